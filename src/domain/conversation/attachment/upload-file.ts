// uploadFile: checks a file, writes its bytes, and then its row, so that no row is without bytes. A crash in between leaves
// bytes without a row, which the queue of deletions removes.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Conflict, InvalidInput, LimitReached } from '../../../errors.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import type { Tx } from '../../../store/db/db.ts'
import {
  findUpload,
  insertAttachment,
  type NewAttachment,
} from '../../../store/sql/conversation/attachment/attachments.ts'
import { countFiles, countTenantBytes } from '../../../store/sql/conversation/attachment/count-files.ts'
import { delayDeletion, endDelay, isDelayed } from '../../../store/sql/conversation/attachment/file-deletions.ts'
import { id, name, parse } from '../../kernel/input.ts'
import { newId } from '../../kernel/id.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import type { Platform } from '../../kernel/platform.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { authorize, lockConversation, requireWriter, trusted } from '../../kernel/rights/authorize.ts'
import type { Viewer } from '../../kernel/view.ts'
import { joinIfAbsent } from '../participant/join.ts'
import { keyOf, type Attachment, type FileLimits, type Files } from './attachment.ts'
import { isImage, MAX_PIXELS, sizeOfImage, type ImageSize } from './image-size.ts'
import { agreedType, statedType, typeByBytes } from './media-type.ts'

/** Time for which an upload keeps bytes without a row from deletion, in seconds: longer than any write of the store. */
export const UPLOAD_SECONDS = 300

/** Maximum number of attachments of a conversation. The sum of their sizes is read while the conversation is locked. */
const MAX_ATTACHMENTS = 10_000

const uploadFileInput = z.object({
  conversationId: id('conversation'),
  fileName: name.nullish(),
  clientId: name.nullish(),
})
/** `mediaType`: the type that the client states, as a Content-Type; null for none. */
export type UploadFileInput = z.input<typeof uploadFileInput> & { mediaType?: string | null; bytes: Buffer }

/** `deduplicated`: whether an earlier upload of the same file is returned. */
export type UploadedFile = { attachment: Attachment; deduplicated: boolean }

export type UploadDeps = Platform & { files: Files }

/** The directories and control characters of a name have no meaning for the server, and must not reach another system. */
export function plainName(fileName: string | null | undefined): string | null {
  const base = fileName
    ?.split(/[\\/]/)
    .at(-1)!
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
  return base === undefined || base === '' || base === '.' || base === '..' ? null : base
}

/** Returns the media type of the bytes. @throws InvalidInput if it is not accepted, or contradicts the stated type */
export function checkedType(bytes: Buffer, mediaType: string | null, { types }: FileLimits): string {
  const stated = statedType(mediaType)
  const found = typeByBytes(bytes)
  const type = agreedType(stated, found)
  if (type === null) {
    throw InvalidInput.at('file', `is stated to be ${stated}, but is ${found} by its bytes. Send it with its own type`)
  }
  if (!types.includes(type)) {
    throw InvalidInput.at('file', `has the type ${type}; accepted are ${types.join(', ')}`)
  }
  return type
}

/** Returns the size of an image; null for other files. @throws InvalidInput for a damaged or too large image */
export function checkedSize(mediaType: string, bytes: Buffer): ImageSize | null {
  if (!isImage(mediaType)) return null
  const size = sizeOfImage(mediaType, bytes)
  if (!size) throw InvalidInput.at('file', `is a damaged ${mediaType}: its header states no width and height`)
  if (size.width * size.height > MAX_PIXELS) {
    throw InvalidInput.at('file', `has ${size.width} × ${size.height} pixels; at most ${MAX_PIXELS} are accepted`)
  }
  return size
}

function checkSize({ length }: Buffer, { fileBytes }: FileLimits): void {
  if (length === 0) throw InvalidInput.at('file', 'must not be empty')
  if (length > fileBytes) {
    throw InvalidInput.at('file', `has ${length} bytes; a file may have at most ${fileBytes} (MAX_FILE_BYTES)`)
  }
}

function requireBelow(whose: string, { used, more }: { used: number; more: number }, limit: number, setting: string) {
  if (used + more <= limit) return
  throw new LimitReached(
    `The attachments of the ${whose} have ${used} bytes, and the file has ${more}; at most ${limit} are accepted `
      + `(${setting}). Erase turns with attachments first.`,
    limit,
  )
}

/** @throws LimitReached if the conversation would have more attachments or bytes than it may have */
async function requireSpace(tx: Tx, file: NewAttachment, { conversationBytes }: FileLimits): Promise<void> {
  const { count, bytes } = await countFiles(tx, file.conversationId)
  if (count >= MAX_ATTACHMENTS) {
    throw new LimitReached(
      `The conversation has ${count} attachments; at most ${MAX_ATTACHMENTS} are accepted. Erase turns with attachments `
        + 'first.',
      MAX_ATTACHMENTS,
    )
  }
  requireBelow('conversation', { used: bytes, more: file.bytes }, conversationBytes, 'MAX_CONVERSATION_FILE_BYTES')
}

/** Checks the sum of the tenant without a lock, because all rows of the tenant are read. @throws LimitReached */
async function requireTenantSpace(tx: Tx, tenant: string, { bytes }: NewAttachment, limits: FileLimits): Promise<void> {
  const used = await countTenantBytes(tx, tenant)
  requireBelow('tenant', { used, more: bytes }, limits.tenantBytes, 'MAX_TENANT_FILE_BYTES')
}

/** Returns an earlier upload of the file; null if there is none. @throws Conflict if the clientId is that of another file */
async function earlierUpload(tx: Tx, file: NewAttachment): Promise<UploadedFile | null> {
  const earlier = await findUpload(tx, file)
  if (!earlier) return null
  if (earlier.sha256 === file.sha256) return { attachment: earlier, deduplicated: true }
  throw new Conflict(
    `clientId ${JSON.stringify(file.clientId)} was already used for another file, ${earlier.id}. Use another clientId.`,
  )
}

/** Thrown to write the bytes again: a sweep may have deleted them. */
class BytesLost extends Error {
  override readonly name = 'BytesLost'
}

async function writeRow(deps: UploadDeps, viewer: Viewer, file: NewAttachment): Promise<UploadedFile> {
  const { tenant } = viewer
  const { conversationId, sha256 } = file
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const head = await lockConversation(tx, viewer, conversationId)
    const earlier = await earlierUpload(tx, file)
    if (earlier) return earlier
    const seq = await joinIfAbsent(tx, trusted(viewer), conversationId, head)
    await requireSpace(tx, file, deps.files.limits)
    if (!(await isDelayed(tx, { tenant, sha256 }))) throw new BytesLost()
    await insertAttachment(tx, file)
    if (seq !== null) afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }]))
    return { attachment: file, deduplicated: false }
  })
}

/**
 * Uploads a file to a conversation, for a turn of the viewer. An actor who is not a participant joins an OPEN conversation.
 * An unused attachment is deleted after UNUSED_HOURS. Idempotent by clientId; without one, a file that the viewer has
 * uploaded before and not used is returned again.
 * @throws InvalidInput if the file is empty, too large, of a type that is not accepted, or not of the stated type
 * @throws NotFound @throws NotAllowed if rights.ts denies the call, or the viewer has left the conversation
 * @throws Conflict if the clientId was used for another file
 * @throws LimitReached if the attachments of the conversation would be too many, or those of the conversation or of the
 * tenant too large
 * @throws FileBusy while the bytes of an equal file are being deleted
 */
export async function uploadFile(deps: UploadDeps, viewer: Viewer, input: UploadFileInput): Promise<UploadedFile> {
  authorize(viewer, 'uploadFile', input)
  const { bytes, mediaType = null } = input
  const {
    conversationId,
    fileName,
    clientId = null,
  } = await redactInput(deps, viewer, 'uploadFile', parse(uploadFileInput, { ...input, bytes: undefined }))
  const { store, limits } = deps.files
  const { tenant, actor } = viewer
  checkSize(bytes, limits)
  const type = checkedType(bytes, mediaType, limits)
  const size = checkedSize(type, bytes)
  // Before anything is written. The transaction checks it again.
  await requireWriter(deps.db.of(tenant), viewer, conversationId)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const file: NewAttachment = {
    id: newId('attachment'),
    conversationId,
    sha256,
    bytes: bytes.length,
    mediaType: type,
    fileName: plainName(fileName),
    width: size?.width ?? null,
    height: size?.height ?? null,
    uploadedBy: actor,
    clientId,
  }
  const tx = deps.db.of(tenant)
  const earlier = await earlierUpload(tx, file)
  if (earlier) return earlier
  await requireSpace(tx, file, limits)
  await requireTenantSpace(tx, tenant, file, limits)
  for (let attempt = 1; ; attempt++) {
    const delay = await delayDeletion(deps.db, { tenant, sha256 }, UPLOAD_SECONDS)
    try {
      await store.put(keyOf(tenant, sha256), bytes)
      return await writeRow(deps, viewer, file)
    } catch (error) {
      if (error instanceof BytesLost && attempt === 1) continue
      await endDelay(deps.db, tenant, delay).catch((err: unknown) =>
        deps.log.warn({ err }, 'the bytes of a failed upload are deleted later'),
      )
      throw error
    }
  }
}
