// The time and the timers that the server uses. Tests replace them with a clock that they advance
// (test/support/fake-clock.ts). Leases and expiry dates in the database use the database's own time.

/**
 * `Date` tells the time of day, which the system can set back; `performance.now()` measures durations, in ms. The
 * timers are those of Node.
 */
export type Clock = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'> & {
  Date: Pick<DateConstructor, 'now'> & (new () => Date)
  performance: Pick<Performance, 'now'>
}

export const systemClock: Clock = globalThis

/** Resolves after `ms`. The timer keeps the process alive. @throws the signal's reason after an abort */
export function sleep(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clock.clearTimeout(timer)
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a reason need not be an Error
      reject(signal!.reason)
    }
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}
