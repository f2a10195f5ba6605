// Connects the file parts of imported turns with the attachments that the import has written. What a file states in its
// parts about an attachment is not used, because it could name one that the author does not have.

import type { Tx } from '../../../../store/db/db.ts'
import { readImportedAttachments } from '../../../../store/sql/trust/transfer/exported-attachments.ts'
import type { ImportedTurn } from '../../../../store/sql/trust/transfer/imported-conversation.ts'
import { urnOf } from '../../../conversation/attachment/attachment.ts'
import type { ContentPart } from '../../../turn/content.ts'

/** Returns the part without its attachment: the URN in its URL, which gives no access, remains. */
export function withoutAttachment<Part extends { type?: unknown }>(part: Part): Part {
  if (part.type !== 'file') return part
  const { attachmentId: _id, attachment: _attachment, ...rest } = part as Part & Record<string, unknown>
  return rest as unknown as Part
}

const partsOf = ({ parts }: ImportedTurn): readonly ContentPart[] => (parts ?? []) as ContentPart[]

const idOf = (part: ContentPart): string | undefined => (part.type === 'file' ? part.attachmentId : undefined)

/**
 * Returns the turns with the attachments that the store has for them: of the same conversation, author and position. Parts
 * that name another attachment lose it.
 */
export async function withImportedAttachments(tx: Tx, turns: readonly ImportedTurn[]): Promise<ImportedTurn[]> {
  const ids = turns.flatMap((turn) => partsOf(turn).flatMap((part) => idOf(part) ?? []))
  const found = new Map((await readImportedAttachments(tx, ids)).map((each) => [each.id, each]))
  return turns.map((turn) => {
    if (!partsOf(turn).some((part) => part.type === 'file')) return turn
    const parts = partsOf(turn).map((part) => {
      const row = found.get(idOf(part) ?? '')
      const plain = withoutAttachment(part)
      if (plain.type !== 'file' || !row || row.conversationId !== turn.conversationId) return plain
      if (row.uploadedBy !== turn.actor || row.position !== turn.position) return plain
      const { id: attachmentId, mediaType, sha256, bytes, width, height } = row
      return {
        ...plain,
        mediaType,
        url: urnOf(attachmentId),
        attachmentId,
        attachment: { sha256, bytes, width, height },
      }
    })
    return { ...turn, parts }
  })
}
