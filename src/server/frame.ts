// Headers of WebSocket frames sent by a server. Each frame is one unmasked, uncompressed text message (RFC 6455 §5.2).
// The header is written separately, because many sockets share the payload.

const FINAL_TEXT = 0x81

/** Returns the size in bytes of the frame header for a payload of `payloadBytes`. */
export const headerSize = (payloadBytes: number) => (payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10)

/** Writes the header at `offset`; returns the offset of the payload. */
export function writeHeader(into: Buffer, offset: number, payloadBytes: number): number {
  into[offset] = FINAL_TEXT
  if (payloadBytes < 126) {
    into[offset + 1] = payloadBytes
    return offset + 2
  }
  if (payloadBytes < 65_536) {
    into[offset + 1] = 126
    into.writeUInt16BE(payloadBytes, offset + 2)
    return offset + 4
  }
  into[offset + 1] = 127
  into.writeBigUInt64BE(BigInt(payloadBytes), offset + 2)
  return offset + 10
}
