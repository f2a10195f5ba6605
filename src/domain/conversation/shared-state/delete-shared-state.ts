// Deletes shared state: one key by a verb, and the keys of an erased user. The patches of its changes are deleted with it,
// and stored contexts that quote it lose the quotation. The journal keeps which actors changed the key, and when.

import { z } from 'zod'
import { Conflict, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import type { StateKey } from '../../../store/sql/conversation/shared-state/read-shared-states.ts'
import { readStoredState, writeChange } from '../../../store/sql/conversation/shared-state/shared-states.ts'
import {
  deleteState,
  erasePatchesOf,
  readKeysOfUser,
  readWriters,
} from '../../../store/sql/trust/erasure/erased-states.ts'
import { loseSources } from '../../../store/sql/trust/erasure/stored-contexts.ts'
import { writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { derivedId } from '../../kernel/derived-id.ts'
import { authorize, lockConversation, requireMembership, requireNoHold } from '../../kernel/rights/authorize.ts'
import { count, id, name, parse } from '../../kernel/input.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

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
  const seq = await writeEntry(tx, conversationId, 'STATE_CHANGED', {})
  const change = { seq, key, version, actor, audience: deleted.audience, deleted: true, patch: null }
  await writeChange(tx, conversationId, { ...change, clientId: null, clientHash: null }, version)
  await loseSources(tx, [derivedId({ kind: 'state', conversationId, key })])
  return { key, version, seq }
}

/**
 * Deletes the state of a key. A later call of updateSharedState creates it anew, with version 1.
 * @throws InvalidInput @throws NotFound if the viewer sees no such state
 * @throws NotAllowed if the viewer is not a present participant, if rights.ts denies the call, or if the conversation or
 * an actor who changed the key is under legal hold
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
    await requireMembership(tx, actor, conversationId)
    const state = await readStoredState(tx, { conversationId, key })
    const isSeen = state && (state.audience === null || state.audience.includes(actor))
    if (!isSeen) throw new NotFound('shared state', key)
    if (expectedVersion != null && expectedVersion !== state.version) {
      throw new Conflict(
        `expectedVersion does not match: the state ${JSON.stringify(key)} has version ${state.version}. Read it again before `
          + 'you delete it.',
      )
    }
    await requireNoHold(tx, tenant, conversationId, await readWriters(tx, { conversationId, key }))
    const deleted = await deleteKey(tx, { conversationId, key }, actor)
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: deleted.seq, last: deleted.seq }]))
    return deleted
  })
}

/**
 * Erases what a user wrote into the shared state of a conversation, whose journal is locked: deletes the keys that only
 * the user has changed or sees, and the patches of the user's changes of other keys, whose values are kept. Stored contexts
 * lose the quotations of all of these keys.
 * @returns the number of deleted keys and patches, and the seqs of the entries
 */
export async function eraseStatesOf(
  tx: Tx,
  conversationId: string,
  user: string,
): Promise<{ states: number; patches: number; seqs: number[] }> {
  const { own, changed } = await readKeysOfUser(tx, conversationId, user)
  const seqs: number[] = []
  for (const key of own) seqs.push((await deleteKey(tx, { conversationId, key }, user)).seq)
  const patches = await erasePatchesOf(tx, conversationId, user)
  await loseSources(
    tx,
    changed.map((key) => derivedId({ kind: 'state', conversationId, key })),
  )
  return { states: own.length, patches, seqs }
}
