// Hooks for calls of the server: a value that is loaded, and an action that a button starts.

import { useCallback, useEffect, useRef, useState } from 'react'
import { errorText } from './text.ts'

export type Loaded<Value> = {
  /** The newest value; null before the first one. It stays while a newer one is loaded. */
  value: Value | null
  /** Why the newest load failed, in words; null if it did not. */
  error: string | null
  isLoading: boolean
  /** Loads the value again. */
  reload(): void
}

/**
 * Loads a value, again whenever the key changes. A load that is overtaken by another one is aborted.
 * @param key everything that the value depends on; null to load nothing
 */
export function useLoad<Value>(read: (signal: AbortSignal) => Promise<Value>, key: unknown): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, 'reload'>>({ value: null, error: null, isLoading: true })
  const [count, setCount] = useState(0)
  const newest = useRef(read)
  newest.current = read
  const text = JSON.stringify(key)
  useEffect(() => {
    if (text === 'null') return setState({ value: null, error: null, isLoading: false })
    const loading = new AbortController()
    setState((shown) => ({ ...shown, isLoading: true }))
    newest
      .current(loading.signal)
      .then((value) => loading.signal.aborted || setState({ value, error: null, isLoading: false }))
      .catch((error: unknown) => {
        if (!loading.signal.aborted) setState((shown) => ({ ...shown, error: errorText(error), isLoading: false }))
      })
    return () => loading.abort()
  }, [text, count])
  return { ...state, reload: useCallback(() => setCount((before) => before + 1), []) }
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
