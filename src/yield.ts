// Lets requests and timers run during long loops: JavaScript that does not yield holds up the whole process.

import { setImmediate } from 'node:timers/promises'

/** Milliseconds that a loop may run before it yields. */
const SHARE_MS = 5

/** Resolves in the next round of the event loop, after the I/O that is waiting. */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/**
 * For a loop: call and await the result after each item. It yields once `SHARE_MS` have passed since the loop began or
 * last yielded; in between it returns at once.
 */
export function createYield(now: () => number = () => performance.now()): () => Promise<void> | undefined {
  let began = now()
  return () => {
    if (now() - began < SHARE_MS) return undefined
    return yieldToEventLoop().then(() => {
      began = now()
    })
  }
}
