// Moves a conversation's facts when its visibility changes, in the transaction that changes it. To others, the facts of a
// conversation that becomes MEMBERS are deleted; its participants keep them, apart from all other facts.

import {
  addSourcesOf,
  copyToMembers,
  deleteProfilesMadeOf,
  lockForOpening,
  moveToMembers,
  moveToOpen,
  readFactsFromElsewhere,
  readSupersededFromOutside,
  supersedeByCopies,
} from '../../store/sql/fact/move-facts.ts'
import { lockFactsOfConversation, reactivateFacts } from '../../store/sql/erasure/erase-facts.ts'
import { nameSources, readSupersededBy, removeSources } from '../../store/sql/fact/fact-sources.ts'
import { copyFactVectors, supersedeFacts } from '../../store/sql/fact/write-facts.ts'
import type { Tx } from '../../store/db.ts'
import type { ChangeVisibility } from '../conversation.ts'
import { newId } from '../id.ts'

/** Moves the facts of the conversation, whose journal the transaction has locked. */
export const moveFacts: ChangeVisibility = (tx, { tenant, conversationId, visibility }) =>
  visibility === 'MEMBERS' ? toMembers(tx, tenant, conversationId) : toOpen(tx, conversationId)

/**
 * Facts with sources in this conversation only move. Of the others, the conversation gets copies, and its sources are
 * taken back. No fact stays superseded by a fact of another visibility set.
 */
async function toMembers(tx: Tx, tenant: string, conversationId: string): Promise<void> {
  const facts = await lockFactsOfConversation(tx, conversationId)
  if (facts.length === 0) return
  const shared = new Set(await readFactsFromElsewhere(tx, facts, conversationId))
  const own = facts.filter((id) => !shared.has(id))
  const copies = [...shared].map((from) => ({ from, to: newId('fact') }))
  const moved = [...own, ...copies.map(({ to }) => to)]
  await copyToMembers(tx, copies, conversationId)
  await copyFactVectors(tx, copies)
  await removeSources(tx, [...shared], { conversationId })
  await nameSources(tx, moved)
  await moveToMembers(tx, own, conversationId)
  await supersedeByCopies(tx, moved, copies)
  const freed = await readSupersededBy(tx, own)
  const isMoved = new Set(moved)
  await reactivateFacts(tx, [
    ...freed.filter((id) => !isMoved.has(id)),
    ...(await readSupersededFromOutside(tx, moved)),
  ])
  await deleteProfilesMadeOf(tx, tenant, own)
}

/** Facts that others have too become duplicates of those, and their sources are added to them. */
async function toOpen(tx: Tx, conversationId: string): Promise<void> {
  const duplicates = await lockForOpening(tx, conversationId)
  await addSourcesOf(tx, duplicates)
  await supersedeFacts(
    tx,
    duplicates.map(({ id, duplicateOf }) => ({ id, by: duplicateOf, reason: 'DUPLICATE' })),
  )
  await nameSources(
    tx,
    duplicates.map(({ duplicateOf }) => duplicateOf),
  )
  await moveToOpen(tx, conversationId)
}
