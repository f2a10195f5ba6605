// The shared state of a conversation as AG-UI state: an object with the value at each key, and with digests of the values,
// by which the server recognises what a client has changed since. Pure.

import { createHash } from 'node:crypto'
import type { SharedState } from '../../client/index.ts'
import { patchBetween } from '../../domain/kernel/json-patch.ts'
import { canonicalJson, isJsonObject, isSameJson, type JsonObject } from '../../domain/kernel/merge-patch.ts'
import type { AguiEvent } from './protocol.ts'

/** The field of the state with the digest of the value at each key. Shared state at this key is not shown. @internal */
export const DIGESTS = '$digests'
/** Maximum size of the shared state that is shown, in bytes of JSON. Keys that follow in order of name are left out. @internal */
export const MAX_STATE_BYTES = 1024 * 1024
/** Maximum size of a patch, in bytes of JSON. A larger change is sent as a snapshot. */
const MAX_PATCH_BYTES = 64 * 1024

/** Returns 16 hexadecimal digits that differ for different values. */
const digestOf = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16)

const digests = new WeakMap<SharedState, string>()
/** Returns the digest of the value of a state, which is computed once. */
function digestOfState(state: SharedState): string {
  const digest = digests.get(state) ?? digestOf(state.value)
  digests.set(state, digest)
  return digest
}

/** Returns the states that are shown, in order of key. */
export function shownStates(states: readonly SharedState[]): SharedState[] {
  let bytes = 0
  return states.filter(({ key, value }) => {
    bytes += Buffer.byteLength(JSON.stringify(value)) + key.length
    return key !== DIGESTS && bytes <= MAX_STATE_BYTES
  })
}

/** Returns the AG-UI state. A key `__proto__` would change the prototype of objects, so no value is assigned. @internal */
export const stateOf = (states: readonly SharedState[]): JsonObject => ({
  ...Object.fromEntries(states.map(({ key, value }) => [key, value])),
  [DIGESTS]: Object.fromEntries(states.map((state) => [state.key, digestOfState(state)])),
})

/** Returns the event after which a client with the state `before` has the state `after`; null if it has it. @internal */
export function stateEvent(before: JsonObject | null, after: JsonObject): AguiEvent | null {
  if (before && isSameJson(before, after)) return null
  const patch = before ? patchBetween(before, after, MAX_PATCH_BYTES) : null
  const isWhole = !patch || patch.some(({ path }) => path === '')
  return isWhole ? { type: 'STATE_SNAPSHOT', snapshot: after } : { type: 'STATE_DELTA', delta: patch }
}

/** Returns a function that returns the events of what has changed in the states since its last call. */
export function createStateEvents(): (states: readonly SharedState[]) => AguiEvent[] {
  let seen: readonly SharedState[] | null = null
  let shown: JsonObject | null = null
  return (states) => {
    if (states === seen) return []
    const current = stateOf(states)
    const event = stateEvent(shown, current)
    ;[seen, shown] = [states, current]
    return event ? [event] : []
  }
}

/** A change by the client: it applies to the version, 0 for a key that has no state. */
export type StateEdit = { key: string; value: unknown; expectedVersion: number }
/** A change that is not made, because the key has another value than the one that the client has changed. */
export type StaleEdit = { key: string; value: unknown }

/**
 * Returns the changes that the client has made to the values that it received. A value without a digest is a change if the
 * key has no state, or if the client has received the conversation before and the viewer was the last to change the key:
 * an application has then replaced the whole state. Keys that are absent are not deleted.
 * @param hasReceived whether the client has messages that the server has sent
 */
export function editsOf(
  given: unknown,
  states: readonly SharedState[],
  { viewer, hasReceived }: { viewer: string; hasReceived: boolean },
): { edits: StateEdit[]; stale: StaleEdit[] } {
  const edits: StateEdit[] = []
  const stale: StaleEdit[] = []
  if (!isJsonObject(given)) return { edits, stale }
  const received = isJsonObject(given[DIGESTS]) ? given[DIGESTS] : {}
  const byKey = new Map(states.map((state) => [state.key, state]))
  for (const [key, value] of Object.entries(given)) {
    const current = byKey.get(key)
    const base = Object.hasOwn(received, key) ? received[key] : undefined
    if (key === DIGESTS || (current && isSameJson(current.value, value)) || base === digestOf(value)) continue
    const isCurrent = current ? base === digestOfState(current) : base === undefined
    const isOwn = base === undefined && hasReceived && current?.updatedBy === viewer
    if (isCurrent || isOwn) edits.push({ key, value, expectedVersion: current?.version ?? 0 })
    else stale.push({ key, value })
  }
  return { edits, stale }
}
