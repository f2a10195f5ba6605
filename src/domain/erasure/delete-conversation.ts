// Deletes a conversation with everything in it and everything derived from it, in one transaction.

import { NotFound } from '../../errors.ts'
import {
  deleteProfilesOfConversation,
  lockFactsOfConversation,
  readConversationsGivenWay,
  reviveFacts,
} from '../../store/sql/erasure/erase-facts.ts'
import { withTransaction } from '../../store/tx.ts'
import { lockConversations, noteFacts } from '../fact/write.ts'
import { kindOf } from '../id.ts'
import type { Platform } from '../platform.ts'
import { announceDeleted } from '../publisher.ts'
import type { Viewer } from '../view.ts'

/** What was erased, counted. */
export type ErasureReceipt = {
  conversations: number
  turns: number
  facts: number
  summaries: number
  profiles: number
  completedAt: Date
}

/**
 * Deletes the conversation with all that is in it, and the profiles that tell of its facts, in one transaction; facts of other
 * conversations that gave way to its own hold again. Its readers are told, and end.
 * @throws NotFound
 */
export async function deleteConversation(
  deps: Platform,
  viewer: Viewer,
  conversationId: string,
): Promise<ErasureReceipt> {
  if (kindOf(conversationId) !== 'conversation') throw new NotFound('conversation', conversationId)
  const others = await readConversationsGivenWay(deps.pool, conversationId)
  return withTransaction(deps.db, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, viewer.tenant, [conversationId, ...others])
    if (!heads.has(conversationId)) throw new NotFound('conversation', conversationId)
    const turns = await tx.turn.count({ where: { conversationId } })
    const summaries = await tx.summary.count({ where: { conversationId } })
    const { facts, gaveWay } = await lockFactsOfConversation(tx, conversationId)
    const profiles = facts === 0 ? 0 : await deleteProfilesOfConversation(tx, viewer.tenant, conversationId)
    const participants = await tx.participant.findMany({ where: { conversationId }, select: { actor: true } })
    await tx.conversation.delete({ where: { id: conversationId } })
    const revived = await reviveFacts(tx, gaveWay)
    await noteFacts(
      deps,
      tx,
      afterCommit,
      viewer.tenant,
      revived.filter(({ conversationId }) => conversationId !== null && heads.has(conversationId)),
    )
    afterCommit(() => {
      deps.vectors.forget(conversationId)
      announceDeleted(
        deps,
        viewer.tenant,
        conversationId,
        participants.map(({ actor }) => actor),
      )
    })
    return { conversations: 1, turns, facts, summaries, profiles, completedAt: new Date() }
  })
}
