// The files of messages of other front ends, as parts of turns.

import type { ConversationHandle } from '../conversation/conversation.ts'
import type { FileInput } from '../generated.ts'

/** The id of the attachment in a signed URL, and in the URN of a file part. */
const ATTACHMENT = /(?:\/api\/v1\/files\/|^urn:colloquy:attachment:)(att_\w+)/

/**
 * Returns the file of a message as a part of a turn: the attachment that its URL names, or else the file at the URL. The file
 * of a data URL is uploaded, once for the `clientId`.
 * @throws ColloquyError @throws TypeError for a malformed data URL
 */
export async function filePart(
  conversation: ConversationHandle,
  { url, mediaType, fileName = null }: { url: string; mediaType: string; fileName?: string | null },
  clientId: string,
): Promise<{ file: FileInput }> {
  const [, attachmentId] = ATTACHMENT.exec(url) ?? []
  if (attachmentId) return { file: { attachmentId } }
  if (!url.startsWith('data:')) return { file: { url, mediaType, fileName } }
  const bytes = await (await fetch(url)).blob()
  const file = new Blob([bytes], { type: mediaType })
  const { id } = await conversation.uploadFile(file, { fileName: fileName ?? undefined, clientId })
  return { file: { attachmentId: id } }
}
