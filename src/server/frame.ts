// WebSocket frames as a server writes them: one unmasked, uncompressed text message in one frame (RFC 6455 §5.2), whose
// payload many sockets share.

const FINAL_TEXT = 0x81

/** Bytes of the header of a frame with a payload of that many bytes. */
export const headerSize = (payload: number) => (payload < 126 ? 2 : payload < 65_536 ? 4 : 10)

/** Writes the header at `offset`; returns the offset of the payload. */
export function writeHeader(into: Buffer, offset: number, payload: number): number {
  into[offset] = FINAL_TEXT
  if (payload < 126) {
    into[offset + 1] = payload
    return offset + 2
  }
  if (payload < 65_536) {
    into[offset + 1] = 126
    into.writeUInt16BE(payload, offset + 2)
    return offset + 4
  }
  into[offset + 1] = 127
  into.writeBigUInt64BE(BigInt(payload), offset + 2)
  return offset + 10
}
