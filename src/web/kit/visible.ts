// Whether the person can see the page.

import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { Loaded } from './load.ts'

const subscribe = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Returns whether the page is visible: not in a background tab, and not minimised. */
export const useVisible = (): boolean => useSyncExternalStore(subscribe, () => document.visibilityState === 'visible')

/** Returns a number that grows every `ms` while the page is visible. */
export function useTicks(ms: number): number {
  const isVisible = useVisible()
  const [ticks, setTicks] = useState(0)
  useEffect(() => {
    if (!isVisible) return
    const timer = setInterval(() => setTicks((count) => count + 1), ms)
    return () => clearInterval(timer)
  }, [ms, isVisible])
  return ticks
}

/**
 * Loads the value again every `ms` while the page is visible, and when it becomes visible again. A load that takes
 * longer is not interrupted.
 */
export function useRefresh(loaded: Pick<Loaded<unknown>, 'isLoading' | 'reload'>, ms: number): void {
  const newest = useRef(loaded)
  useEffect(() => {
    newest.current = loaded
  })
  useEffect(() => {
    const refresh = () => {
      if (document.visibilityState === 'visible' && !newest.current.isLoading) newest.current.reload()
    }
    const timer = setInterval(refresh, ms)
    document.addEventListener('visibilitychange', refresh)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', refresh)
    }
  }, [ms])
}
