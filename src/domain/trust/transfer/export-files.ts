// The step of an export that writes the attachments of a conversation, each followed by its bytes in chunks.

import {
  readExportedAttachment,
  type ConversationsOf,
  type ExportedAttachment,
} from '../../../store/sql/trust/transfer/exported-attachments.ts'
import { keyOf } from '../../conversation/attachment/attachment.ts'
import { CHUNK_BYTES } from './format.ts'
import { linesOf, type ExportedLine, type Stage, type StepDeps, type StepResult } from './position.ts'

type FilesStage = Extract<Stage, { at: 'attachments' }>

/** Returns the bytes of the chunk; null if the store does not have all of them. */
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
  const chunk = Buffer.concat(parts)
  return chunk.length === range.end + 1 - offset ? chunk : null
}

/** The stage after the last attachment. */
const afterFiles = ({ scope }: ConversationsOf, { conversation, head }: FilesStage): Stage =>
  scope === 'USER' ? { at: 'turns', conversation, position: 0, seq: 0 } : { at: 'entries', conversation, head, seq: 0 }

/**
 * Writes the next chunk of an attachment, after the line of the attachment if it is the first one. An attachment that is
 * deleted between two chunks, or has lost its bytes, ends with a line that states it.
 */
export async function attachments(deps: StepDeps, of: ConversationsOf, stage: FilesStage): Promise<StepResult> {
  const { conversation, id, offset } = stage
  const { tenant } = of
  const which = { conversationId: conversation.id, uploadedBy: of.scope === 'USER' ? of.subject : null }
  const found = await readExportedAttachment(deps.db, tenant, which, offset > 0 ? { id } : { after: id })
  if (!found && offset === 0) return { objects: [], next: afterFiles(of, stage) }
  const chunk = found && (await readChunk(deps, tenant, found, offset))
  if (!chunk) {
    if (found) {
      deps.log.error({ attachmentId: found.id }, 'the file store lacks bytes of an attachment, which is not exported')
    }
    const objects: ExportedLine[] = offset === 0 ? [] : [{ type: 'fileMissing' }]
    return { objects, next: { ...stage, id: found?.id ?? id, offset: 0 } }
  }
  const objects: ExportedLine[] = offset === 0 ? linesOf('attachment', [found]) : []
  objects.push({ type: 'fileBytes', base64: chunk.toString('base64') })
  const end = offset + chunk.length
  return { objects, next: { ...stage, id: found.id, offset: end < found.bytes ? end : 0 } }
}
