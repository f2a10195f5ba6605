// Imports attachments. The chunks of a file are stored as files of their own until the last one has been read; then the file is put together, checked like an upload, and stored before its row is written.

import { createHash } from 'node:crypto'
import { Conflict, InvalidInput } from '../../../../errors.ts'
import { delayDeletion } from '../../../../store/sql/conversation/attachment/file-deletions.ts'
import { keyOf, type FileLimits, type Files } from '../../../conversation/attachment/attachment.ts'
import { checkedSize, checkedType, plainName, UPLOAD_SECONDS } from '../../../conversation/attachment/upload-file.ts'
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
  if (mode === 'NEW' && isErased) count(batch.report, 'attachment', 'erased')
}

/** Adds bytes to the file of the attachment before, and the attachment to the batch if they are the last ones. */
export function addBytes(
  batch: Batch,
  { line, number }: Numbered<BytesLine>,
  { transferId }: Pick<Stored, 'transferId'>,
): void {
  const state = batch.state!
  const bytes = bytesOfLine(line)
  const fileBytes = state.fileBytes - bytes.length
  if (state.file === null) return void (batch.state = { ...state, fileBytes })
  // Of the transfer and the line only: no other file may have the name, so that the chunk can be deleted with the import.
  const name = sha256Of(Buffer.from(`${transferId} ${number} ${sha256Of(bytes)}`))
  batch.chunks.push({ name, bytes })
  const file = { ...state.file, chunks: [...state.file.chunks, name] }
  if (fileBytes === 0) {
    batch.attachments.push({ ...file, conversationId: state.id })
    batch.finishedChunks.push(...file.chunks)
    count(batch.report, 'attachment', 'added')
  }
  batch.state = { ...state, fileBytes, file: fileBytes === 0 ? null : file }
}

/** Ends the attachment before without its other bytes: it is left out. */
export function addMissing(batch: Batch): void {
  const state = batch.state!
  if (state.file) {
    batch.finishedChunks.push(...state.file.chunks)
    count(batch.report, 'attachment', 'missing')
  }
  batch.state = { ...state, fileBytes: 0, file: null }
}

type FileDeps = Pick<Platform, 'db'> & { files: Files }

async function readChunks({ files }: FileDeps, tenant: string, { chunks }: PendingFile): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for (const name of chunks) {
    const stream = await files.store.get(keyOf(tenant, name))
    if (stream) for await (const part of stream as AsyncIterable<Uint8Array>) parts.push(part)
  }
  return Buffer.concat(parts)
}

/**
 * Checks the bytes of the file like those of an upload. Returns the line with the type and the size that the bytes have.
 * @throws Conflict with the number of the line of the attachment
 */
async function checkedLine(bytes: Buffer, { line, number }: PendingFile, limits: FileLimits): Promise<AttachmentLine> {
  const { id, sha256, mediaType, fileName } = line
  if (sha256Of(bytes) !== sha256) {
    throw new Conflict(`line ${number}: the bytes of ${id} do not have the SHA-256 of the line: the file was damaged.`)
  }
  try {
    const type = checkedType(bytes, mediaType, limits)
    const size = checkedSize(type, bytes)
    const name = plainName(fileName as string | undefined) ?? undefined
    return { ...line, mediaType: type, fileName: name, width: size?.width, height: size?.height }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new Conflict(`line ${number}: the attachment ${id} ${error.issues[0]!.message}.`)
  }
}

/** Stores the chunks of the batch, and the files of which it has the last chunk. @throws Conflict for a damaged file */
export async function storeFiles(deps: FileDeps, tenant: string, { chunks, attachments }: Batch): Promise<void> {
  const { db, files } = deps
  for (const { name, bytes } of chunks) {
    await delayDeletion(db, { tenant, sha256: name }, ABANDONED_MS / 1000)
    await files.store.put(keyOf(tenant, name), bytes)
  }
  for (const file of attachments) {
    const { sha256 } = file.line
    const bytes = await readChunks(deps, tenant, file)
    file.line = await checkedLine(bytes, file, files.limits)
    await delayDeletion(db, { tenant, sha256 }, UPLOAD_SECONDS)
    await files.store.put(keyOf(tenant, sha256), bytes)
  }
}
