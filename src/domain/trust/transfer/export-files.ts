// The step of an export that writes the attachments of a conversation, each followed by its bytes in chunks.

import {
  readAttachmentAfter,
  type ConversationsOf,
  type ExportedAttachment,
} from '../../../store/sql/trust/transfer/exported-attachments.ts'
import { keyOf } from '../../conversation/attachment/attachment.ts'
import { CHUNK_BYTES } from './format.ts'
import { linesOf, type ExportedLine, type Stage, type StepDeps, type StepResult } from './position.ts'

type FilesStage = Extract<Stage, { at: 'attachments' }>

/** Returns the bytes of the chunk; null if the store does not have the file. */
async function readChunk(
  { files }: StepDeps,
  tenant: string,
  { sha256, bytes }: ExportedAttachment,
  offset: number,
): Promise<Buffer | null> {
  const range = { start: offset, end: Math.min(bytes, offset + CHUNK_BYTES) - 1 }
  const stream = await files.store.get(keyOf(tenant, sha256), range)
  if (!stream) return null
  const parts: Uint8Array[] = []
  for await (const part of stream as AsyncIterable<Uint8Array>) parts.push(part)
  return Buffer.concat(parts)
}

/** The stage after the last attachment. */
const afterFiles = ({ conversation, head, isOwn }: FilesStage): Stage =>
  isOwn ? { at: 'turns', conversation, position: 0, seq: 0 } : { at: 'entries', conversation, head, seq: 0 }

/** Writes the next chunk of an attachment, after the line of the attachment if it is the first one. */
export async function attachments(deps: StepDeps, of: ConversationsOf, stage: FilesStage): Promise<StepResult> {
  const { conversation, id: after, offset, isOwn } = stage
  const { tenant } = of
  const uploadedBy = isOwn ? of.subject : null
  const found = await readAttachmentAfter(deps.db, tenant, { conversationId: conversation.id, after, uploadedBy })
  if (!found) return { objects: [], next: afterFiles(stage) }
  const chunk = await readChunk(deps, tenant, found, offset)
  if (!chunk) {
    deps.log.error({ attachmentId: found.id }, 'the file store has no file of an attachment, which is not exported')
    return { objects: [], next: { ...stage, id: found.id, offset: 0 } }
  }
  const objects: ExportedLine[] = offset === 0 ? linesOf('attachment', [found]) : []
  objects.push({ type: 'fileBytes', base64: chunk.toString('base64') })
  const end = offset + chunk.length
  return { objects, next: end < found.bytes ? { ...stage, offset: end } : { ...stage, id: found.id, offset: 0 } }
}
