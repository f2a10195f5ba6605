// Frames the messages of an outbox as WebSocket frames, or as events of an event stream. The frame is written around
// the payload, because many clients share the payload.

/** A message is a header and its content. The content ends with closing bytes, which are the same for every message. */
export type Framing = {
  /** Returns the size in bytes of the header of a content of `contentBytes` bytes, which include the closing bytes. */
  headerSize(contentBytes: number): number
  /** Writes the header at `offset`; returns the offset of the content. */
  writeHeader(into: Buffer, offset: number, contentBytes: number): number
  readonly closing: Buffer
}

const FINAL_TEXT = 0x81

/**
 * Frames sent by a server: each is one unmasked, uncompressed text message (RFC 6455 §5.2). The content is a JSON
 * object whose last property is the payload.
 */
export const WEBSOCKET: Framing = {
  headerSize: (contentBytes) => (contentBytes < 126 ? 2 : contentBytes < 65_536 ? 4 : 10),
  writeHeader(into, offset, contentBytes) {
    into[offset] = FINAL_TEXT
    if (contentBytes < 126) {
      into[offset + 1] = contentBytes
      return offset + 2
    }
    if (contentBytes < 65_536) {
      into[offset + 1] = 126
      into.writeUInt16BE(contentBytes, offset + 2)
      return offset + 4
    }
    into[offset + 1] = 127
    into.writeBigUInt64BE(BigInt(contentBytes), offset + 2)
    return offset + 10
  },
  closing: Buffer.from('}'),
}

/** Events of an event stream (HTML §9.2.5). The payload is JSON without line breaks, so it is one line of data. */
export const EVENT_STREAM: Framing = {
  headerSize: () => 0,
  writeHeader: (_, offset) => offset,
  closing: Buffer.from('\n\n'),
}
