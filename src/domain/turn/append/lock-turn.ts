// Locks the conversation of a turn, so that a transaction can change the turn.

import { NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { ConversationVisibility } from '../../../store/generated/enums.ts'
import { lockJournal } from '../../../store/sql/turn/journal/write-entry.ts'
import { isWithinReach } from '../../kernel/rights/authorize.ts'
import type { Viewer } from '../../kernel/view.ts'

/** A conversation whose journal the transaction has locked. `salt` salts the hashes of its indexed terms. */
export type LockedConversation = { conversationId: string; salt: number; visibility: ConversationVisibility }

/**
 * Finds the turn's conversation and locks it, if the viewer sees the conversation and its credential gives access to
 * it.
 * @throws NotFound
 */
export async function lockConversationOf(tx: Tx, viewer: Viewer, turnId: string): Promise<LockedConversation> {
  const found = await tx.turn.findFirst({
    where: { id: turnId, conversation: { tenant: viewer.tenant } },
    select: { conversationId: true },
  })
  const head =
    found && isWithinReach(viewer, found.conversationId) && (await lockJournal(tx, viewer, found.conversationId))
  if (!head) throw new NotFound('turn', turnId)
  return { conversationId: found.conversationId, salt: head.salt, visibility: head.visibility }
}
