// Imports attachments. The chunks of a file are stored as files of their own, which a sweep deletes, until the last one has
// been read; then the file is put together, checked like an upload, and stored before its row is written.

import { createHash } from 'node:crypto'
import { Conflict } from '../../../../errors.ts'
import { delayDeletion } from '../../../../store/sql/conversation/attachment/file-deletions.ts'
import { keyOf, type Files } from '../../../conversation/attachment/attachment.ts'
import { agreedType, typeByBytes } from '../../../conversation/attachment/media-type.ts'
import { UPLOAD_SECONDS } from '../../../conversation/attachment/upload-file.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { AttachmentLine, BytesLine } from '../format.ts'
import { ABANDONED_MS } from '../transfer.ts'
import { count, type Batch, type Stored } from './batch.ts'
import type { Numbered } from './import-lines.ts'
import { bytesOfLine, type PendingFile } from './import-state.ts'

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Begins the file of an attachment. That of an erased user is not written. */
export function addAttachment(
  batch: Batch,
  { line, number }: Numbered<AttachmentLine>,
  { erased }: Pick<Stored, 'erased'>,
): void {
  const state = batch.state!
  const { id: conversationId, mode } = state
  const isErased = erased.isUser(line.uploadedBy, line.createdAt)
  const isWritten = mode === 'NEW' && !isErased
  batch.state = { ...state, fileBytes: line.bytes, file: isWritten ? { line, number, chunks: [] } : null }
  if (mode === 'EXISTING') batch.existing.push({ line, number, conversationId })
  if (mode === 'NEW') count(batch.report, 'attachment', isErased ? 'erased' : 'added')
}

/** Adds bytes to the file of the attachment before, and the attachment to the batch if they are the last ones. */
export function addBytes(batch: Batch, line: BytesLine): void {
  const state = batch.state!
  const bytes = bytesOfLine(line)
  const fileBytes = state.fileBytes - bytes.length
  if (state.file === null) return void (batch.state = { ...state, fileBytes })
  const sha256 = sha256Of(bytes)
  batch.chunks.push({ sha256, bytes })
  const file = { ...state.file, chunks: [...state.file.chunks, sha256] }
  if (fileBytes === 0) batch.attachments.push({ ...file, conversationId: state.id })
  batch.state = { ...state, fileBytes, file: fileBytes === 0 ? null : file }
}

type FileDeps = Pick<Platform, 'db'> & { files: Files }

async function readChunks({ files }: FileDeps, tenant: string, { chunks }: PendingFile): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for (const sha256 of chunks) {
    const stream = await files.store.get(keyOf(tenant, sha256))
    if (stream) for await (const part of stream as AsyncIterable<Uint8Array>) parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Checks the bytes of the file. @throws Conflict with the number of the line of the attachment */
function checkFile(bytes: Buffer, { line, number }: PendingFile): void {
  const { id, sha256, mediaType } = line
  if (sha256Of(bytes) !== sha256) {
    throw new Conflict(`line ${number}: the bytes of ${id} do not have the SHA-256 of the line: the file was damaged.`)
  }
  const found = typeByBytes(bytes)
  if (agreedType(mediaType, found) !== mediaType) {
    throw new Conflict(`line ${number}: ${id} is stated to be ${mediaType}, but is ${found} by its bytes.`)
  }
}

/** Stores the chunks of the batch, and the files of which it has the last chunk. @throws Conflict for a damaged file */
export async function storeFiles(deps: FileDeps, tenant: string, { chunks, attachments }: Batch): Promise<void> {
  const { db, files } = deps
  for (const { sha256, bytes } of chunks) {
    await delayDeletion(db, { tenant, sha256 }, ABANDONED_MS / 1000)
    await files.store.put(keyOf(tenant, sha256), bytes)
  }
  for (const file of attachments) {
    const { sha256 } = file.line
    const bytes = await readChunks(deps, tenant, file)
    checkFile(bytes, file)
    await delayDeletion(db, { tenant, sha256 }, UPLOAD_SECONDS)
    await files.store.put(keyOf(tenant, sha256), bytes)
  }
}
