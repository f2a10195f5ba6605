// A live value of the shared state at one key: it follows the changes of everybody, and shows the changes of this
// program at once, before the server has acknowledged them.

import type { ConversationHandle } from '../conversation/conversation.ts'
import type { Live } from '../conversation/live.ts'
import type { Changes, Watched } from '../conversation/watch.ts'
import type { JsonPatchOperationInput, SharedStateChanged } from '../generated.ts'
import { applyPatch } from './json-patch.ts'
import { ABSENT, changed, createWriter, type Known, type StateChange } from './state-writer.ts'

export type SharedStateValue<T> = {
  /**
   * The value with the changes of this program that the server has not acknowledged; null before the first read, and if
   * there is none.
   */
  value: T | null
  /** The version that the server has sent last; 0 if there is none. */
  version: number
  /** As of `watch`: `loading` before the first read. */
  status: Watched<unknown>['status']
  /** The failure of the connection or of the newest change, also of its function; null after the next success. */
  error: Error | null
  /** Whether a change waits for the server. */
  isPending: boolean
}

export type LiveSharedState<T> = Live<SharedStateValue<T>> & {
  /**
   * Changes the state, after the earlier changes of this program. Shows the change at once, and takes it back if it is
   * refused. Resolves with the version.
   * @throws ColloquyError
   */
  update(change: StateChange<T>): Promise<number>
}

/** A change that is shown. `version`: the version that it has made; undefined until the server has acknowledged it. */
type Pending = { change: StateChange<any>; version?: number }

/** Returns the state after an event; null if it must be read again. */
function after(known: Known, { version, patch, deleted }: SharedStateChanged): Known | null {
  if (deleted) return null
  if (version <= known.version) return known
  if (version > known.version + 1 || !patch) return null
  try {
    return { value: applyPatch(known.value, patch as JsonPatchOperationInput[]), version }
  } catch {
    return null
  }
}

/** The live values of each conversation, by key. */
const created = new WeakMap<ConversationHandle, Map<string, LiveSharedState<any>>>()

/**
 * Returns the live value of the shared state at a key, the same for every call with this object of the conversation. It
 * is kept current while it has listeners.
 */
export function sharedStateOf<T = any>(conversation: ConversationHandle, key: string): LiveSharedState<T> {
  const states = created.get(conversation) ?? new Map<string, LiveSharedState<any>>()
  created.set(conversation, states)
  const state = states.get(key) ?? createSharedState(conversation, key)
  states.set(key, state)
  return state
}

function createSharedState<T>(conversation: ConversationHandle, key: string): LiveSharedState<T> {
  let pending: readonly Pending[] = []
  let failure: Error | null = null
  let sent: Promise<unknown> = Promise.resolve()
  const listeners = new Set<() => void>()
  const writer = createWriter(conversation, key)

  async function follow(signal: AbortSignal, { value, events }: Changes<Known>): Promise<Known> {
    let known = events.length > 0 ? value : null
    for (const event of events) {
      if (event.__typename === 'SharedStateChanged' && event.key !== key) continue
      known = known && event.__typename === 'SharedStateChanged' ? after(known, event) : null
    }
    const before = pending
    const current = known ?? (await writer.read(signal))
    // A read contains what was acknowledged before it, also if its version is lower: the state was deleted since.
    const isOver = (each: Pending) =>
      each.version !== undefined && (each.version <= current.version || (!known && before.includes(each)))
    pending = pending.filter((each) => !isOver(each))
    return current
  }
  const watched = conversation.watch(follow, ['SHARED_STATE_CHANGED'])

  let shown: SharedStateValue<T>
  let from: unknown[] = []
  /** Returns the state to show. The same object until one of its parts changes. */
  function get(): SharedStateValue<T> {
    const { value: known, status, error } = watched.get()
    const { value, version } = known ?? ABSENT
    const parts = [known, status, error, pending, failure]
    if (parts.every((part, index) => part === from[index]) && from.length > 0) return shown
    from = parts
    const waiting = pending.filter((each) => each.version === undefined || each.version > version)
    const next = waiting.reduce<unknown>((before, { change }) => {
      try {
        return changed(before, change)
      } catch {
        return before
      }
    }, value)
    const isPending = pending.some((each) => each.version === undefined)
    return (shown = { value: (next ?? null) as T | null, version, status, error: error ?? failure, isPending })
  }

  function show(next: readonly Pending[], error: Error | null): void {
    ;[pending, failure] = [next, error]
    for (const listener of [...listeners]) listener()
  }

  return {
    get,
    subscribe(listener) {
      const added = () => listener()
      listeners.add(added)
      const remove = watched.subscribe(added)
      return () => {
        listeners.delete(added)
        remove()
      }
    },
    update(change) {
      const entry: Pending = { change }
      show([...pending, entry], failure)
      const sending = sent.then(() => writer.send(change, watched.get().value))
      sent = sending.catch(() => {})
      return sending.then(
        (version) => {
          const isSeen = (watched.get().value?.version ?? 0) >= version || listeners.size === 0
          const others = pending.filter((each) => each !== entry)
          show(isSeen ? others : pending.map((each) => (each === entry ? { change, version } : each)), null)
          return version
        },
        (error: Error) => {
          show(
            pending.filter((each) => each !== entry),
            error,
          )
          throw error
        },
      )
    },
  }
}
