// Reads and changes the shared state at a key. A change by a function is sent again until nobody else was faster.

import type { ConversationHandle } from '../conversation/conversation.ts'
import type { JsonPatchOperationInput, SharedState } from '../generated.ts'
import { ColloquyError } from '../transport/errors.ts'
import { sleep } from '../transport/retry.ts'
import { applyMerge, applyPatch } from './json-patch.ts'

/**
 * A change: a new value; a patch or a merge patch, which the server applies to the value that it then has; or a
 * function that returns the next value, or changes the copy that it gets, an empty object for a key that does not exist.
 * A function must have no side effects: it is called for each value that it is shown with or sent for.
 */
export type StateChange<T> =
  | { value: T }
  | { patch: readonly JsonPatchOperationInput[] }
  | { merge: object }
  | ((value: T) => T | void)

/** A state of the key; ABSENT if there is none. */
export type Known = { value: unknown; version: number }
export const ABSENT: Known = { value: undefined, version: 0 }
const knownOf = (state: SharedState | null): Known => (state ? { value: state.value, version: state.version } : ABSENT)

/** Returns the value after a change. @throws if the change cannot be applied */
export function changed(value: any, change: StateChange<any>): unknown {
  if (typeof change !== 'function') {
    if ('value' in change) return change.value
    return 'patch' in change ? applyPatch(value ?? {}, change.patch) : applyMerge(value ?? {}, change.merge)
  }
  // A key that does not exist counts as an empty object.
  const copy = value === undefined ? {} : structuredClone(value)
  const next = change(copy)
  return next === undefined ? copy : next
}

/**
 * Number of attempts of a change by a function; and the longest pause after the first, ms. Later pauses are shorter, so
 * the client that has retried longest is likely to succeed first.
 */
const RECIPE = { attempts: 30, pauseMs: 200 }

/** The functions that read and change a state. */
export type StateWriter = {
  /** @throws ColloquyError */
  read(signal?: AbortSignal | null): Promise<Known>
  /**
   * Sends a change. Returns the version that it made.
   * @param known a state from which a function may start
   * @throws ColloquyError
   */
  send(change: StateChange<any>, known: Known | null): Promise<number>
}

export function createWriter(conversation: ConversationHandle, key: string): StateWriter {
  /** The newest state that a read or an answer contained. */
  let newest = ABSENT

  const read = async (signal: AbortSignal | null = null): Promise<Known> =>
    (newest = knownOf(await conversation.sharedState(key, { signal })))

  async function sendOnce(change: Exclude<StateChange<any>, Function>, condition: object): Promise<number> {
    // To the server, null is no value.
    const isNull = 'value' in change && change.value === null
    const given = isNull ? { patch: [{ op: 'add', path: '', value: null }] } : change
    const { state, version } = await conversation.updateSharedState({ key, ...given, ...condition })
    if (state) newest = knownOf(state)
    return version
  }

  return {
    read,
    async send(change, known) {
      if (typeof change !== 'function') return sendOnce(change, {})
      if (known && known.version > newest.version) newest = known
      if (newest.version === 0) await read()
      for (let attempt = 1; ; attempt++) {
        const { value, version: expectedVersion } = newest
        try {
          return await sendOnce({ value: changed(value, change) }, { expectedVersion })
        } catch (error) {
          if (!(error instanceof ColloquyError) || error.code !== 'CONFLICT' || attempt === RECIPE.attempts) throw error
          // Pauses before it reads, so that what it reads is new when it is sent.
          await sleep((Math.random() * RECIPE.pauseMs) / attempt)
          await read()
          // Without another version, the conflict has another reason: the key is taken.
          if (newest.version === expectedVersion) throw error
        }
      }
    },
  }
}
