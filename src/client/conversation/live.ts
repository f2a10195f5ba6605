// A live value: a state that is kept current while it has listeners.

import type { Connection } from '../transport/connection.ts'
import { ColloquyError } from '../transport/errors.ts'
import { backOff } from '../transport/retry.ts'

/** A value that changes while it has listeners. Fits React's `useSyncExternalStore`. */
export type Live<State> = {
  /** The current state. The same object until it changes. */
  get(): State
  /**
   * Calls the listener after each change. Returns a function that removes it. Without listeners, the value is not
   * updated.
   */
  subscribe(listener: () => void): () => void
}

/** The action after a failure: `waiting` before the value is read again, `failed` after a permanent one. */
type Failed = { type: 'connection'; status: 'waiting' | 'failed'; error: ColloquyError }
type Running<State, Action> = { get(): State; apply(action: Action): void; fail(error: unknown): void }

/**
 * Creates a live value.
 * @param reduce applies an action; Failed is one of the actions
 * @param run keeps the state current until the signal is aborted; called when the first listener is added, and again
 * when one is added after all were removed. Its error, or a call of `fail`, is applied and reported, and ends the run.
 * After a temporary failure, it is called again.
 */
export function createLive<State, Action>(
  { report }: Connection,
  initial: State,
  reduce: (state: State, action: Action | Failed) => State,
  run: (live: Running<State, Action>, signal: AbortSignal) => Promise<void>,
): Live<State> & { apply(action: Action): void } {
  let state = initial
  let running: AbortController | null = null
  const listeners = new Set<() => void>()
  const get = () => state

  function apply(action: Action | Failed): void {
    const next = reduce(state, action)
    if (next === state) return
    state = next
    for (const listener of [...listeners]) listener()
  }

  function start(): void {
    const current = (running = new AbortController())
    const { signal } = current
    const fail = (error: unknown) => {
      if (signal.aborted) return
      const failure =
        error instanceof ColloquyError ? error : new ColloquyError('BAD_RESPONSE', String(error), { cause: error })
      // A defect of the server may be permanent.
      const isRepeated = failure.isRetryable && failure.code !== 'INTERNAL_SERVER_ERROR'
      apply({ type: 'connection', status: isRepeated ? 'waiting' : 'failed', error: failure })
      report(error)
      if (!isRepeated) return
      current.abort()
      void backOff(9).then(() => running === current && start())
    }
    run({ get, apply: (action) => signal.aborted || apply(action), fail }, signal).catch(fail)
  }

  return {
    get,
    apply,
    subscribe(listener) {
      // Wrapped, so that the same function can be added twice.
      const added = () => listener()
      listeners.add(added)
      if (!running) start()
      return () => {
        listeners.delete(added)
        if (listeners.size > 0) return
        running?.abort()
        running = null
      }
    },
  }
}
