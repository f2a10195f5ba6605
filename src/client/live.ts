// A live value: a state that is kept current while it has listeners.

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

/**
 * Creates a live value.
 * @param run keeps the state current until the signal is aborted; called when the first listener is added, and again
 * when one is added after all were removed
 */
export function createLive<State, Action>(
  initial: State,
  reduce: (state: State, action: Action) => State,
  run: (live: { get(): State; apply(action: Action): void }, signal: AbortSignal) => Promise<void>,
): Live<State> & { apply(action: Action): void } {
  let state = initial
  let running: AbortController | null = null
  const listeners = new Set<() => void>()
  const get = () => state

  function apply(action: Action): void {
    const next = reduce(state, action)
    if (next === state) return
    state = next
    for (const listener of [...listeners]) listener()
  }

  return {
    get,
    apply,
    subscribe(listener) {
      // Wrapped, so that the same function can be added twice.
      const added = () => listener()
      listeners.add(added)
      if (!running) {
        const controller = (running = new AbortController())
        void run({ get, apply: (action) => controller.signal.aborted || apply(action) }, controller.signal)
      }
      return () => {
        listeners.delete(added)
        if (listeners.size > 0) return
        running?.abort()
        running = null
      }
    },
  }
}
