// Files for tests of attachments: the smallest headers that the server accepts, and uploads through the domain.

import type { Deps } from '../../src/domain/deps.ts'
import type { Attachment } from '../../src/domain/conversation/attachment/attachment.ts'
import { uploadFile } from '../../src/domain/conversation/attachment/upload-file.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'

/** A PNG with a header only, followed by the text, which makes files different. */
export function png(width: number, height: number, text = ''): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(33)
  header.write('\x89PNG\r\n\x1a\n', 'latin1')
  header.writeUInt32BE(13, 8)
  header.write('IHDR', 12, 'latin1')
  header.writeUInt32BE(width, 16)
  header.writeUInt32BE(height, 20)
  header.set([8, 6, 0, 0, 0], 24)
  return Buffer.concat([header, Buffer.from(text)])
}

/** Uploads a PNG with the text. */
export const uploadPng = async (
  deps: Deps,
  viewer: Viewer,
  conversationId: string,
  text = 'picture',
): Promise<Attachment> =>
  (await uploadFile(deps, viewer, { conversationId, bytes: png(640, 480, text), mediaType: 'image/png' })).attachment

/** Returns the bytes of the stream; null for null. */
export async function bytesOf(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer | null> {
  if (stream === null) return null
  const parts: Uint8Array[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}
