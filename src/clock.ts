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

/** Resolves after `ms`. The timer keeps the process alive. */
export const sleep = ({ setTimeout }: Pick<Clock, 'setTimeout'>, ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms))
