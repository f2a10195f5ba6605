// Lets requests and timers run during long loops, which would otherwise block the event loop.

import { setImmediate } from 'node:timers/promises'

/** Milliseconds that a loop runs before it yields. */
const SHARE_MS = 5

/** Resolves in the next iteration of the event loop, after pending I/O. */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/**
 * Returns a function that a loop calls and awaits after each item. It yields if `SHARE_MS` have passed since the loop
 * started or last yielded, and returns undefined otherwise.
 */
export function createYield(now: () => number = () => performance.now()): () => Promise<void> | undefined {
  let startedAt = now()
  return () => {
    if (now() - startedAt < SHARE_MS) return undefined
    return yieldToEventLoop().then(() => {
      startedAt = now()
    })
  }
}
