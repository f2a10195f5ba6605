// The time and the timers that the server uses, and the time to wait before a retry. Tests replace the clock with one
// that they advance (test/support/fake-clock.ts). Leases and expiry dates in the database use the database's own time.

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

/**
 * Calls the task once per interval. Skips a call while the promise of the previous one is pending. With `atOnce`, the
 * first call is made immediately; by default, after one interval. The timer does not keep the process alive.
 * @param task its promise must not reject
 * @returns a function that ends the calls, and resolves when the promise of the last one has settled
 */
export function every(
  clock: Pick<Clock, 'setInterval' | 'clearInterval'>,
  intervalMs: number,
  task: () => Promise<unknown> | void,
  { atOnce = false } = {},
): () => Promise<void> {
  let running: Promise<unknown> | null = null
  const run = () => {
    running ??=
      task()?.finally(() => {
        running = null
      }) ?? null
  }
  const timer = clock.setInterval(run, intervalMs)
  timer.unref()
  if (atOnce) run()
  return async () => {
    clock.clearInterval(timer)
    await running
  }
}

/**
 * A time that doubles with each consecutive failure, up to a maximum. A random part is removed, so that clients that
 * failed together do not retry together.
 * @property firstMs time to wait after the first failure, ms
 * @property maxMs maximum time to wait, ms; no limit by default
 * @property jitter maximum fraction of the time that is removed at random; 0 by default
 */
export type Backoff = { firstMs: number; maxMs?: number; jitter?: number }

/**
 * Returns the time to wait, ms.
 * @param failures number of consecutive failures, at least 1
 * @param random a number from 0 to 1
 */
export const backoffMs = (
  { firstMs, maxMs = Infinity, jitter = 0 }: Backoff,
  failures: number,
  random = Math.random(),
): number => Math.min(firstMs * 2 ** (failures - 1), maxMs) * (1 - jitter * random)
