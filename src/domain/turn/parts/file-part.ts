// File parts: files by their URL, and attachments, which are known by their URN until the attachment is read.

import { z } from 'zod'
import type { Db } from '../../../store/db/db.ts'
import { idOfUrn, ownAttachments, unusable, urnOf, type Attachment } from '../../conversation/attachment/attachment.ts'
import { id, name, text } from '../../kernel/input.ts'
import { fileUrl } from './file-url.ts'
import type { ContentPart, FilePart } from './part.ts'

/** Maximum number of characters (code points) of a caption. */
export const MAX_CAPTION = 1_000

const isGiven = (value: unknown) => value !== undefined && value !== null

/** The input of a file part. The URN of an attachment as `url` is accepted like its id. */
export const fileInput = z
  .object({
    mediaType: name.nullish(),
    url: fileUrl.nullish(),
    attachmentId: id('attachment').nullish(),
    fileName: name.nullish(),
    caption: text(MAX_CAPTION).nullish(),
  })
  .refine(({ url, attachmentId }) => isGiven(url) !== isGiven(attachmentId), 'must have either url or attachmentId')
  .refine(({ mediaType, url }) => isGiven(mediaType) || !isGiven(url) || idOfUrn(url ?? '') !== null, {
    path: ['mediaType'],
    message: 'is required with url',
  })

/** Returns the part of the input. That of an attachment has only its URN yet. */
export function toFilePart({ attachmentId, mediaType, url, ...named }: z.output<typeof fileInput>): FilePart {
  return { type: 'file', ...named, mediaType: mediaType ?? '', url: url ?? urnOf(attachmentId!) }
}

/** Returns the id of the attachment that the part names; null for other parts. */
export const attachmentOf = (part: ContentPart): string | null => (part.type === 'file' ? idOfUrn(part.url) : null)

/** The author of the parts, and the conversation; null if the write of the turn finds out whether it is the same. */
export type AttachmentsOf = { tenant: string; conversationId: string | null; actor: string }

function withAttachment(part: ContentPart, found: ReadonlyMap<string, Attachment>, path: string): ContentPart {
  const attachmentId = attachmentOf(part)
  if (part.type !== 'file' || attachmentId === null) return part
  const attachment = found.get(attachmentId)
  if (!attachment) throw unusable(path, attachmentId)
  const { sha256, bytes, width, height, mediaType, fileName } = attachment
  return {
    ...part,
    mediaType,
    url: urnOf(attachmentId),
    fileName: part.fileName ?? fileName,
    attachmentId,
    attachment: { sha256, bytes, width, height },
  }
}

/**
 * Returns the parts with the attachments that they name. The write of the turn checks that no other turn uses them.
 * @throws InvalidInput for an attachment that the author has not uploaded to the conversation
 */
export async function withAttachments<Part extends ContentPart>(
  { db }: { db: Db },
  of: AttachmentsOf,
  parts: readonly Part[],
  path: string,
): Promise<Part[]> {
  const ids = parts.map(attachmentOf).filter((each) => each !== null)
  if (ids.length === 0) return [...parts]
  const found = await ownAttachments(db, of, ids)
  return parts.map((part) => withAttachment(part, found, path) as Part)
}
