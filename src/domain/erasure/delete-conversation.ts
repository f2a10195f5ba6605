// Deletes a conversation in one transaction, with its contents and, by the register of derivatives, everything derived
// from them.

import { NotFound } from '../../errors.ts'
import { readConversationsSupersededBy } from '../../store/sql/erasure/erase-facts.ts'
import { withTransaction } from '../../store/tx.ts'
import { lockConversations, noteFacts } from '../fact/write.ts'
import { kindOf } from '../id.ts'
import type { Platform } from '../platform.ts'
import { announceDeleted } from '../publisher.ts'
import type { Viewer } from '../view.ts'
import { deleteWithDerivatives, releaseDerivatives } from './derivatives.ts'

/** Counts of what was deleted. */
export type ErasureReceipt = {
  conversations: number
  /** All versions. */
  turns: number
  facts: number
  summaries: number
  profiles: number
  completedAt: Date
}

/**
 * Deletes the conversation, its contents and their derivatives in one transaction. Facts of other conversations that
 * its facts superseded become active again, with a FactsChanged event there. Subscriptions to the conversation end.
 * @throws NotFound
 */
export async function deleteConversation(
  deps: Platform,
  viewer: Viewer,
  conversationId: string,
): Promise<ErasureReceipt> {
  const { tenant } = viewer
  if (kindOf(conversationId) !== 'conversation') throw new NotFound('conversation', conversationId)
  const others = await readConversationsSupersededBy(deps.db, conversationId)
  return withTransaction(deps.db, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [conversationId, ...others])
    if (!heads.has(conversationId)) throw new NotFound('conversation', conversationId)
    const participants = await tx.participant.findMany({ where: { conversationId }, select: { actor: true } })
    const { rows, changed } = await deleteWithDerivatives(tx, { tenant, conversationId })
    // A conversation that was not among `others` is not locked, and gets no entry.
    const noted = changed.filter((fact) => fact.conversationId !== null && heads.has(fact.conversationId))
    await noteFacts(deps, tx, afterCommit, tenant, noted)
    afterCommit(() => {
      releaseDerivatives(deps, conversationId)
      announceDeleted(
        deps,
        tenant,
        conversationId,
        participants.map(({ actor }) => actor),
      )
    })
    const count = (table: string) => rows.get(table) ?? 0
    return {
      conversations: 1,
      turns: count('turn'),
      facts: count('fact'),
      summaries: count('summary'),
      profiles: count('user_profile'),
      completedAt: new Date(),
    }
  })
}
