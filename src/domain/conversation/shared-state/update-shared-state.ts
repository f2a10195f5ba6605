// Changes the shared state of a conversation. The journal's lock puts the changes of a conversation in one order, so each
// change is applied to the value of the version before it.

import { Conflict, InvalidInput, LimitReached } from '../../../errors.ts'
import { hash } from 'node:crypto'
import type { Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import {
  dropOldContent,
  findChange,
  markAddressed,
  readNewestVersion,
  readPresentAmong,
  readStateUsage,
  readStoredState,
  writeChange,
  writeState,
  type StoredState,
} from '../../../store/sql/conversation/shared-state/shared-states.ts'
import { isHeld } from '../../../store/sql/trust/erasure/erasures.ts'
import { writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import { authorize, isPresent, lockConversation, requirePermits } from '../../kernel/rights/authorize.ts'
import { parse } from '../../kernel/input.ts'
import { announceEntries } from '../../kernel/live/publisher.ts'
import { canonicalJson, isSameJson, plain } from '../../kernel/merge-patch.ts'
import type { Platform } from '../../kernel/platform.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { isInAudience, type Viewer } from '../../kernel/view.ts'
import { joinIfAbsent } from '../participant/join.ts'
import { KEPT_PATCHES, MAX_KEYS, MAX_WRITERS, TOTAL_BYTES, type SharedState } from './shared-state.ts'
import { newValue, updateSharedStateInput, type ParsedUpdate, type UpdateSharedStateInput } from './state-input.ts'

/** A change of the shared state. */
export type ChangedState = {
  /** The present state of the key; null if a repeated call finds that the viewer does not see it any more. */
  state: SharedState | null
  /** The version that the call wrote. */
  version: number
  /** Seq of the journal entry of the change. */
  seq: number
  /** Whether an earlier call with the same clientId made the change. */
  deduplicated: boolean
}

/** Returns the error for a key outside the view. It does not tell the version, or whether it is the expected one. */
const keyTaken = (key: string) =>
  new Conflict(
    `The key ${JSON.stringify(key)} is taken: participants who do not include you share a state with it. Use another key.`,
  )

function requireVersion(key: string, version: number, expected: number | null | undefined): void {
  if (expected == null || expected === version) return
  const found = version === 0 ? 'does not exist (version 0)' : `has version ${version}`
  throw new Conflict(
    `expectedVersion does not match: the state ${JSON.stringify(key)} ${found}. Read it again before you change it.`,
  )
}

const asSet = (actors: readonly string[]) => [...new Set(actors)].sort()

/** The content of a call, by which its repetitions are recognised. */
function digestOf({ conversationId: _, clientId: __, expectedVersion: ___, ...content }: ParsedUpdate): string {
  return hash('sha256', canonicalJson(plain(content)), 'hex')
}

/** Returns the change that an earlier call with the same clientId made; null for none. @throws Conflict */
async function findTwin(tx: Tx, viewer: Viewer, given: ParsedUpdate): Promise<ChangedState | null> {
  const { conversationId, clientId } = given
  const twin = clientId == null ? null : await findChange(tx, { conversationId, actor: viewer.actor, clientId })
  if (!twin) return null
  // Without a hash, the content was erased.
  if (twin.clientHash !== null && twin.clientHash !== digestOf(given)) {
    throw new Conflict(
      `clientId ${JSON.stringify(clientId)} was already used for version ${twin.version} of the state `
        + `${JSON.stringify(twin.key)}, with different content. Read that state, or use another clientId.`,
    )
  }
  const state = (await readStoredState(tx, { conversationId, key: twin.key }))?.state
  const isSeen = state && isInAudience(viewer, state.audience) && (await isPresent(tx, viewer.actor, conversationId))
  return { state: isSeen ? state : null, version: twin.version, seq: twin.seq, deduplicated: true }
}

/** Checks the number of keys, and the size of all values unless the change reduces it. @throws LimitReached */
async function requireSpace(tx: Tx, given: ParsedUpdate, printed: string): Promise<void> {
  const { otherKeys, otherBytes, bytes } = await readStateUsage(tx, given)
  if (bytes === null && otherKeys >= MAX_KEYS) {
    throw new LimitReached(
      `The conversation has ${MAX_KEYS} keys of shared state, the maximum. Delete one first.`,
      MAX_KEYS,
    )
  }
  const size = Buffer.byteLength(printed)
  if (otherBytes + size > TOTAL_BYTES && size > (bytes ?? 0)) {
    throw new LimitReached(
      `The shared state of the conversation would have more than ${TOTAL_BYTES} bytes of JSON. Delete or shorten values.`,
      TOTAL_BYTES,
    )
  }
}

/** Returns the actors who have changed the key, with the actor. @throws LimitReached */
function writersWith(current: StoredState | null, actor: string): string[] {
  const writers = current?.writers ?? []
  if (writers.includes(actor)) return writers
  if (writers.length < MAX_WRITERS) return [...writers, actor]
  throw new LimitReached(
    `${MAX_WRITERS} actors have changed this key of shared state, the maximum. Use another key.`,
    MAX_WRITERS,
  )
}

/** Returns the audience of a new key, with the viewer; null for everyone. @throws InvalidInput for an actor who is absent */
async function audienceOfNew(tx: Tx, viewer: Viewer, given: ParsedUpdate): Promise<string[] | null> {
  const { conversationId, audience } = given
  if (audience == null) return null
  const actors = [...new Set([viewer.actor, ...audience])]
  const present = await readPresentAmong(tx, conversationId, actors)
  const absent = actors.find((actor) => !present.has(actor))
  if (absent !== undefined) {
    throw InvalidInput.at('audience', `${JSON.stringify(absent)} is not a participant; add the participant first`)
  }
  await markAddressed(tx, conversationId, actors)
  return actors
}

/** Checks that the input does not change the audience of a state. @throws Conflict */
function requireSameAudience(viewer: Viewer, given: ParsedUpdate, state: SharedState): void {
  if (given.audience == null) return
  const wanted = asSet([viewer.actor, ...given.audience])
  if (state.audience !== null && isSameJson(wanted, asSet(state.audience))) return
  throw new Conflict(
    `The audience of the state ${JSON.stringify(given.key)} was fixed when it was created. Delete the state, or use another key.`,
  )
}

/**
 * Creates or changes the state of a key, and returns it. Without `expectedVersion`, the change is applied to the current
 * value. `schema` and `audience` are those of a new key; a later call may change the schema, which needs a permit, and
 * must not change the audience. A viewer who is not a participant joins an OPEN conversation. If its clientId was already
 * used for the same content, nothing changes.
 * @param forReaders only a key with exactly this audience is changed, and a new key gets it: the readers of the reply of a
 * run, which must neither reveal nor publish what others do not see
 * @throws InvalidInput also if an operation of the patch cannot be applied, or the result does not match the schema
 * @throws NotFound @throws LimitReached
 * @throws NotAllowed if the viewer was removed, or has left a MEMBERS conversation, or if rights.ts denies the call
 * @throws Conflict if the version is not expectedVersion, a `test` fails, the viewer is not in the audience of the key, the
 * call gives another audience, or the clientId was used for different content
 */
export async function updateSharedState(
  deps: Platform,
  viewer: Viewer,
  input: UpdateSharedStateInput,
  forReaders?: { audience: readonly string[] | null },
): Promise<ChangedState> {
  authorize(viewer, 'updateSharedState', input)
  const { tenant, actor } = viewer
  const parsed = await redactInput(deps, viewer, 'updateSharedState', parse(updateSharedStateInput, input))
  const given = forReaders ? { ...parsed, audience: forReaders.audience && [...forReaders.audience] } : parsed
  const { conversationId, key, clientId } = given
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const head = await lockConversation(tx, viewer, conversationId)
    const twin = await findTwin(tx, viewer, given)
    if (twin) return twin
    const joined = await joinIfAbsent(tx, viewer, conversationId, head)
    const stored = await readStoredState(tx, { conversationId, key })
    const current = stored?.state ?? null
    if (current && !isInAudience(viewer, current.audience)) throw keyTaken(key)
    if (current && forReaders && given.audience === null && current.audience !== null) throw keyTaken(key)
    requireVersion(key, current?.version ?? 0, given.expectedVersion)
    if (current) requireSameAudience(viewer, given, current)
    const changesSchema = current !== null && given.schema != null && !isSameJson(given.schema, current.schema)
    const conditions = changesSchema ? (['stateSchema'] as const) : []
    await requirePermits(tx, viewer, 'updateSharedState', { conversationId, conditions })
    const schema = given.schema ?? current?.schema ?? null
    const { printed, patch } = newValue(current?.value, given, schema)
    await requireSpace(tx, given, printed)
    const audience = current ? current.audience : await audienceOfNew(tx, viewer, given)
    const version = 1 + (current?.version ?? (await readNewestVersion(tx, given)))
    const writers = writersWith(stored, actor)
    const keepsAll = await isHeld(tx, tenant, conversationId, writers)
    const seq = await writeEntry(tx, conversationId, 'SHARED_STATE_CHANGED', {})
    const ofCall = { clientId: clientId ?? null, clientHash: clientId == null ? null : digestOf(given) }
    const change = { seq, key, version, actor, audience, deleted: false, patch, ...ofCall }
    await writeChange(tx, conversationId, { ...change, keepsReplaced: keepsAll })
    if (!keepsAll) await dropOldContent(tx, { conversationId, key, version: version - KEPT_PATCHES.changes })
    const state = await writeState(tx, { conversationId, key, version, schema, audience, printed, actor, writers })
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: joined ?? seq, last: seq }]))
    return { state, version, seq, deduplicated: false }
  })
}
