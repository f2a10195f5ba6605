// Hooks for calls of the server: a value that is loaded, and an action that a button starts.

import { useCallback, useEffect, useRef, useState } from 'react'
import { errorText } from './text.ts'

type State<Value> = {
  /** The newest value of the key; null before the first one. It stays while a newer one is loaded. */
  value: Value | null
  /** Why the newest load failed, in words; null if it did not. */
  error: string | null
  isLoading: boolean
}
export type Loaded<Value> = State<Value> & {
  /** Loads the value again. */
  reload(): void
  /** Replaces the value by a newer one, for example by the one that a mutation has returned. */
  put(value: Value): void
}

/** `key`: the key of the newest load. `isPrevious`: whether the value is of an earlier key. */
type Kept<Value> = State<Value> & { key: string; isPrevious: boolean }

/** The key of a load of nothing. */
const NOTHING = 'null'

/**
 * Returns the state for the key: the kept one only if it is of the same key. @param keepsPrevious see useLoad
 * @internal
 */
export function stateFor<Value>(kept: Kept<Value>, key: string, keepsPrevious: boolean): Kept<Value> {
  if (kept.key === key) return kept
  const value = keepsPrevious && key !== NOTHING ? kept.value : null
  return { key, value, isPrevious: value !== null, error: null, isLoading: key !== NOTHING }
}

/**
 * Returns the state after the newest load has failed. A value of an earlier key would be taken for one of the new key.
 * @internal
 */
export const afterFailure = <Value>(kept: Kept<Value>, error: string): Kept<Value> => ({
  ...kept,
  value: kept.isPrevious ? null : kept.value,
  isPrevious: false,
  error,
  isLoading: false,
})

export type LoadOptions = {
  /** The value is also loaded again when this changes. It is of the same key, so the shown one stays meanwhile. */
  version?: unknown
  /**
   * Whether the value of the previous key is shown until the first one of the new key is loaded. Show that it is old.
   */
  keepsPrevious?: boolean
}

/**
 * Loads a value, again whenever the key changes. A load that is overtaken by another one is aborted.
 * @param key everything that the value depends on; null to load nothing
 */
export function useLoad<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  key: unknown,
  { version = null, keepsPrevious = false }: LoadOptions = {},
): Loaded<Value> {
  const text = JSON.stringify(key)
  const [kept, setKept] = useState<Kept<Value>>(() => ({
    key: text,
    value: null,
    isPrevious: false,
    error: null,
    isLoading: text !== NOTHING,
  }))
  const [count, setCount] = useState(0)
  const newest = useRef(read)
  newest.current = read
  const running = useRef<AbortController | null>(null)
  useEffect(() => {
    setKept((before) => ({ ...stateFor(before, text, keepsPrevious), isLoading: text !== NOTHING }))
    if (text === NOTHING) return
    const loading = new AbortController()
    running.current = loading
    newest
      .current(loading.signal)
      .then((value) => {
        if (!loading.signal.aborted) setKept({ key: text, value, isPrevious: false, error: null, isLoading: false })
      })
      .catch((error: unknown) => {
        if (!loading.signal.aborted) setKept((before) => afterFailure(before, errorText(error)))
      })
    return () => loading.abort()
  }, [text, JSON.stringify(version), count])
  const put = useCallback(
    (value: Value) => {
      running.current?.abort()
      setKept({ key: text, value, isPrevious: false, error: null, isLoading: false })
    },
    [text],
  )
  const { value, error, isLoading } = stateFor(kept, text, keepsPrevious)
  return { value, error, isLoading, reload: useCallback(() => setCount((before) => before + 1), []), put }
}

type Action<Args extends unknown[]> = {
  /** Starts the action. Resolves when it has ended; its failure is in `error`. Returns whether it succeeded. */
  run(...args: Args): Promise<boolean>
  error: string | null
  isRunning: boolean
  clear(): void
}

/** Returns an action with its state. */
export function useAction<Args extends unknown[]>(act: (...args: Args) => Promise<unknown>): Action<Args> {
  const [error, setError] = useState<string | null>(null)
  const [isRunning, setRunning] = useState(false)
  const newest = useRef(act)
  newest.current = act
  const run = useCallback(async (...args: Args) => {
    setRunning(true)
    setError(null)
    try {
      await newest.current(...args)
      return true
    } catch (failure) {
      setError(errorText(failure))
      return false
    } finally {
      setRunning(false)
    }
  }, [])
  return { run, error, isRunning, clear: useCallback(() => setError(null), []) }
}

/** Returns the value after it has not changed for `ms`. */
export function useSettled<Value>(value: Value, ms: number): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
