// Deletes shared state: one key by a verb, and the keys of an erased user. The patches of its changes are deleted with it,
// and stored contexts that quote it lose the quotation. The journal keeps which actors changed the key, and when.

import { z } from 'zod'
import { Conflict, NotAllowed, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import type { StateKey } from '../../../store/sql/conversation/shared-state/read-shared-states.ts'
import {
  readStoredState,
  writeChange,
  type StoredState,
} from '../../../store/sql/conversation/shared-state/shared-states.ts'
import { deleteState, eraseChangesOf, readKeysOfUser } from '../../../store/sql/trust/erasure/erased-shared-state.ts'
import { loseSources } from '../../../store/sql/trust/erasure/stored-contexts.ts'
import { writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { derivedId } from '../../kernel/derived-id.ts'
import {
  authorize,
  isPresent,
  lockConversation,
  notParticipant,
  requireNoHold,
  requirePermits,
} from '../../kernel/rights/authorize.ts'
import { count, id, name, parse } from '../../kernel/input.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import type { Platform } from '../../kernel/platform.ts'
import { isInAudience, type Viewer } from '../../kernel/view.ts'

const deleteSharedStateInput = z.object({
  conversationId: id('conversation'),
  key: name,
  expectedVersion: count.nullish(),
})
export type DeleteSharedStateInput = z.input<typeof deleteSharedStateInput>

/** `seq`: the journal entry of the deletion. */
export type DeletedState = { key: string; version: number; seq: number }

/** Deletes a key that exists, and writes the entry of its last change. */
async function deleteKey(tx: Tx, { conversationId, key }: StateKey, actor: string): Promise<DeletedState> {
  const deleted = await deleteState(tx, { conversationId, key })
  const version = deleted.version + 1
  const seq = await writeEntry(tx, conversationId, 'SHARED_STATE_CHANGED', {})
  const change = { seq, key, version, actor, audience: deleted.audience, deleted: true, patch: null }
  await writeChange(tx, conversationId, { ...change, clientId: null, clientHash: null, keepsReplaced: false })
  await loseSources(tx, [derivedId({ kind: 'state', conversationId, key })])
  return { key, version, seq }
}

/**
 * Checks that the viewer may delete the state: it created the state and sees it, or it has the permit of `foreignState`,
 * for which the state need not be in its view. Returns whether it is.
 * @throws NotFound if there is no such state, or a refused viewer does not see it @throws NotAllowed
 */
async function requireDeletable(
  tx: Tx,
  viewer: Viewer,
  { conversationId, key }: StateKey,
  stored: StoredState | null,
): Promise<boolean> {
  const isMember = await isPresent(tx, viewer.actor, conversationId)
  const isSeen = stored !== null && isMember && isInAudience(viewer, stored.state.audience)
  if (isSeen && stored.writers[0] === viewer.actor) return true
  try {
    await requirePermits(tx, viewer, 'deleteSharedState', { conversationId, conditions: ['foreignState'] })
  } catch (error) {
    if (!(error instanceof NotAllowed) || isSeen) throw error
    // The refusal is the same whether or not there is a key outside the view.
    throw isMember ? new NotFound('shared state', key) : notParticipant(viewer.actor)
  }
  if (stored === null) throw new NotFound('shared state', key)
  return isSeen
}

/**
 * Deletes the state of a key. A later call of updateSharedState creates it anew, with the version after the deletion.
 * @throws InvalidInput
 * @throws NotFound if there is no such state, or if the viewer does not see it and may not delete states of others
 * @throws NotAllowed if rights.ts denies the call, or if the conversation or an actor who changed the key is under legal
 * hold
 * @throws Conflict if the version is not expectedVersion
 */
export async function deleteSharedState(
  deps: Platform,
  viewer: Viewer,
  input: DeleteSharedStateInput,
): Promise<DeletedState> {
  authorize(viewer, 'deleteSharedState', input)
  const { conversationId, key, expectedVersion } = parse(deleteSharedStateInput, input)
  const { tenant, actor } = viewer
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    await lockConversation(tx, viewer, conversationId)
    const stored = await readStoredState(tx, { conversationId, key })
    const isSeen = await requireDeletable(tx, viewer, { conversationId, key }, stored)
    const { state, writers } = stored!
    if (expectedVersion != null && expectedVersion !== state.version) {
      const found = isSeen ? `has version ${state.version}. Read it again before you delete it` : 'has another version'
      throw new Conflict(`expectedVersion does not match: the state ${JSON.stringify(key)} ${found}.`)
    }
    await requireNoHold(tx, tenant, conversationId, writers)
    const deleted = await deleteKey(tx, { conversationId, key }, actor)
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: deleted.seq, last: deleted.seq }]))
    return deleted
  })
}

/**
 * Erases what a user wrote into the shared state of a conversation, whose journal is locked: deletes the keys that only
 * the user has changed or sees; of other keys, whose values are kept, the patches of the user's changes, and the values
 * that were kept under a legal hold. Stored contexts lose the quotations of all of these keys.
 * @returns the number of deleted keys and of other changes that lost content, and the seqs of the entries
 */
export async function eraseStatesOf(
  tx: Tx,
  conversationId: string,
  user: string,
): Promise<{ states: number; changes: number; seqs: number[] }> {
  const { own, changed } = await readKeysOfUser(tx, conversationId, user)
  const seqs: number[] = []
  for (const key of own) seqs.push((await deleteKey(tx, { conversationId, key }, user)).seq)
  const changes = await eraseChangesOf(tx, conversationId, user, changed)
  await loseSources(
    tx,
    changed.map((key) => derivedId({ kind: 'state', conversationId, key })),
  )
  return { states: own.length, changes, seqs }
}
