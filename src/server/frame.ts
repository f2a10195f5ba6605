// Headers of WebSocket frames sent by a server. Each frame is one unmasked, uncompressed text message (RFC 6455 §5.2),
// and many sockets share its payload.

const FINAL_TEXT = 0x81

/** Size in bytes of the frame header for a payload of `payload` bytes. */
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
