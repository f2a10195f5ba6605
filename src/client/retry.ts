// Waits, and retries with exponential backoff and jitter. An aborted signal ends the wait immediately.

import { ColloquyError } from './errors.ts'

/** Waits between attempts, ms: `firstMs`, doubled by each retry up to `maxMs`, and randomly shortened by up to half. */
const BACKOFF = { firstMs: 100, maxMs: 5_000 }

/** Waits; resolves early when the signal is aborted. */
export const sleep = (ms: number, signal?: AbortSignal | null): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })

/** Waits before the retry with the number `attempt`, counted from 0. */
export const backOff = (attempt: number, signal?: AbortSignal | null): Promise<void> =>
  sleep(Math.min(BACKOFF.maxMs, BACKOFF.firstMs * 2 ** Math.min(attempt, 16)) * (0.5 + Math.random() / 2), signal)

export const isRetryable = (error: unknown): boolean => error instanceof ColloquyError && error.isRetryable

/** Throws the signal's reason if the signal is aborted. */
function throwIfAborted(signal?: AbortSignal | null): void {
  if (signal?.aborted) throw signal.reason
}

/**
 * Calls `attempt` until it succeeds, with backoff between calls.
 * @param forMs time after which no call is retried, ms
 * @throws the first failure that is not retryable; the first failure after `forMs`; the reason of an aborted signal
 */
export async function retry<T>(attempt: () => Promise<T>, forMs: number, signal?: AbortSignal | null): Promise<T> {
  const end = Date.now() + forMs
  for (let tries = 0; ; tries++) {
    throwIfAborted(signal)
    try {
      return await attempt()
    } catch (error) {
      throwIfAborted(signal)
      if (!isRetryable(error) || Date.now() >= end) throw error
      await backOff(tries, signal)
    }
  }
}

/**
 * Returns a signal that is aborted when one of the given signals is aborted, or by `abort`. `release` removes the
 * listeners from the given signals.
 */
export function anySignal(signals: readonly (AbortSignal | null | undefined)[]) {
  const controller = new AbortController()
  const given = signals.filter((signal) => signal != null)
  const abort = (event: Event) => controller.abort((event.target as AbortSignal).reason)
  for (const signal of given) {
    if (signal.aborted) controller.abort(signal.reason)
    else signal.addEventListener('abort', abort)
  }
  return {
    signal: controller.signal,
    abort: (reason?: unknown) => controller.abort(reason),
    release: () => {
      for (const signal of given) signal.removeEventListener('abort', abort)
    },
  }
}
