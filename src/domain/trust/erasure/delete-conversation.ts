// Deletes a conversation with its contents and all data derived from them (listed in derivatives.ts), in one
// transaction.

import { NotFound } from '../../../errors.ts'
import { readConversationsSupersededBy } from '../../../store/sql/trust/erasure/erased-facts.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { lockConversations, appendFactsChanged } from '../../memory/fact/write.ts'
import {
  authorize,
  requireChange,
  requireConversation,
  requirePermits,
  requireNoHold,
} from '../../kernel/rights/authorize.ts'
import { kindOf } from '../../kernel/id.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceDeleted } from '../../kernel/live/publisher.ts'
import type { Viewer } from '../../kernel/view.ts'
import { writeReceipt, type ErasureReceipt } from './receipt.ts'
import { deleteWithDerivatives, releaseDerivatives } from './run-derivatives.ts'

/**
 * Deletes the conversation, its contents and their derivatives in one transaction. Facts of other conversations become
 * active again if facts of this conversation superseded them. These conversations get a FactsChanged event, except
 * those whose facts were superseded after this call began. Subscriptions to the deleted conversation end.
 * @throws NotFound
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it, if rights.ts denies the call, or
 * if the conversation or a participant is under legal hold
 */
export async function deleteConversation(
  deps: Platform,
  viewer: Viewer,
  conversationId: string,
): Promise<ErasureReceipt> {
  authorize(viewer, 'deleteConversation', { conversationId })
  const { tenant } = viewer
  if (kindOf(conversationId) !== 'conversation') throw new NotFound('conversation', conversationId)
  await requireConversation(deps, viewer, conversationId)
  const affectedIds = await readConversationsSupersededBy(deps.db, tenant, conversationId)
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const heads = await lockConversations(tx, tenant, [conversationId, ...affectedIds])
    const head = heads.get(conversationId)
    if (!head) throw new NotFound('conversation', conversationId)
    await requireChange(tx, viewer, conversationId, head)
    await requirePermits(tx, viewer, 'deleteConversation', { conversationId })
    const participants = await tx.participant.findMany({ where: { conversationId }, select: { actor: true } })
    const actors = participants.map(({ actor }) => actor)
    await requireNoHold(tx, tenant, conversationId, actors)
    const { rows, changed, users } = await deleteWithDerivatives(tx, { tenant, conversationId })
    // A conversation whose facts were superseded after `affectedIds` was read is not locked, so it gets no entry.
    const lockedChanges = changed.filter((fact) => fact.conversationId !== null && heads.has(fact.conversationId))
    await appendFactsChanged(deps, { tx, afterCommit }, tenant, lockedChanges)
    afterCommit(() => {
      releaseDerivatives(deps, conversationId)
      deps.notifyWorkers([], users)
      announceDeleted(deps, tenant, conversationId, actors)
    })
    return writeReceipt(deps, tx, viewer, {
      verb: 'deleteConversation',
      kind: 'CONVERSATION',
      subject: conversationId,
      rows,
    })
  })
}
