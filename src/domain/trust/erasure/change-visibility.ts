// Moves the facts of a conversation to other visibility sets (fact/write.ts) when its visibility changes, in
// the same transaction. Facts of a MEMBERS conversation are in sets of their own, which only its participants see. A
// fact is never superseded by a fact of another set.

import {
  addSourcesOf,
  copyToMembers,
  lockForOpening,
  moveToMembers,
  moveToOpen,
  readFactsFromElsewhere,
  readSupersededFromOutside,
  supersedeByCopies,
} from '../../../store/sql/memory/fact/moved-facts.ts'
import {
  deleteProfilesOfFacts,
  lockFactsOfConversation,
  reactivateFacts,
} from '../../../store/sql/trust/erasure/erased-facts.ts'
import { updateSourceColumns, readSupersededBy, removeSources } from '../../../store/sql/memory/fact/fact-sources.ts'
import { copyFactVectors, supersedeFacts } from '../../../store/sql/memory/fact/facts.ts'
import {
  countFactChanges,
  deleteProgressOfConversation,
  readSetsOfFacts,
} from '../../../store/sql/memory/profile/user-progress.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { MoveFacts } from '../../conversation/conversation-visibility.ts'
import { newId } from '../../kernel/id.ts'

/** Moves the facts of the conversation, whose journal the transaction has locked. */
export const moveFacts: MoveFacts = (tx, { tenant, conversationId, visibility }) =>
  visibility === 'MEMBERS' ? toMembers(tx, tenant, conversationId) : toOpen(tx, tenant, conversationId)

/**
 * Moves the facts without a source in another conversation to the visibility sets of this conversation. Copies the
 * other facts to these sets, and removes the conversation from the sources of the originals.
 */
async function toMembers(tx: Tx, tenant: string, conversationId: string): Promise<void> {
  const facts = await lockFactsOfConversation(tx, conversationId)
  if (facts.length === 0) return
  const sets = await readSetsOfFacts(tx, facts)
  const shared = new Set(await readFactsFromElsewhere(tx, facts, conversationId))
  const own = facts.filter((id) => !shared.has(id))
  const copies = [...shared].map((from) => ({ from, to: newId('fact') }))
  const moved = [...own, ...copies.map(({ to }) => to)]
  await copyToMembers(tx, copies, conversationId)
  await copyFactVectors(tx, copies)
  await removeSources(tx, [...shared], { conversationId })
  await updateSourceColumns(tx, moved)
  await moveToMembers(tx, own, conversationId)
  await supersedeByCopies(tx, moved, copies)
  const supersededByOwn = await readSupersededBy(tx, own)
  const isMoved = new Set(moved)
  await reactivateFacts(tx, [
    ...supersededByOwn.filter((id) => !isMoved.has(id)),
    ...(await readSupersededFromOutside(tx, moved)),
  ])
  await deleteProfilesOfFacts(tx, tenant, own)
  await countFactChanges(tx, [...sets, ...(await readSetsOfFacts(tx, moved))])
}

/**
 * Moves the facts out of the visibility sets of the conversation. A fact that is an exact duplicate of a fact outside
 * them is superseded by that fact, which gets its sources. The profiles of these sets are deleted.
 */
async function toOpen(tx: Tx, tenant: string, conversationId: string): Promise<void> {
  const duplicates = await lockForOpening(tx, conversationId)
  await addSourcesOf(tx, duplicates)
  await supersedeFacts(
    tx,
    duplicates.map(({ id, duplicateOf }) => ({ id, by: duplicateOf, reason: 'DUPLICATED' })),
  )
  await updateSourceColumns(
    tx,
    duplicates.map(({ duplicateOf }) => duplicateOf),
  )
  const moved = await moveToOpen(tx, conversationId)
  await deleteProfilesOfFacts(tx, tenant, moved)
  await deleteProgressOfConversation(tx, tenant, conversationId)
  await countFactChanges(tx, await readSetsOfFacts(tx, moved))
}
