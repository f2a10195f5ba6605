// Waits, and retries with exponential backoff and jitter. An aborted signal ends the wait immediately.

import { ColloquyError } from './errors.ts'

/** Waits between attempts, ms. */
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

/**
 * Waits before the retry with the number `attempt`, counted from 0: `firstMs`, doubled by each retry up to `maxMs`, and
 * randomly shortened by up to half.
 */
export const backOff = (attempt: number, signal?: AbortSignal | null, { firstMs, maxMs } = BACKOFF): Promise<void> =>
  sleep(Math.min(maxMs, firstMs * 2 ** attempt) * (0.5 + Math.random() / 2), signal)

export const isRetryable = (error: unknown): boolean => error instanceof ColloquyError && error.isRetryable

/** Waits for the promise, which never rejects, or until the signal is aborted. */
export async function settled(promise: Promise<unknown>, signal?: AbortSignal | null): Promise<void> {
  const { signal: ended, abort, release } = linkedSignal(signal)
  void promise.then(abort)
  if (!ended.aborted) await new Promise((resolve) => ended.addEventListener('abort', resolve))
  release()
}

/** Throws the signal's reason if the signal is aborted. */
function throwIfAborted(signal?: AbortSignal | null): void {
  if (signal?.aborted) throw signal.reason
}

/**
 * Calls `attempt` until it succeeds, with backoff between calls.
 * @param options `forMs`: time after which no call is retried, ms; `onFailure`: called with each ColloquyError
 * @throws the first failure that is not retryable; the first failure after `forMs`; the reason of an aborted signal
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  options: { forMs: number; signal?: AbortSignal | null; onFailure(error: ColloquyError, isRetried: boolean): void },
): Promise<T> {
  const { forMs, signal, onFailure } = options
  const end = Date.now() + forMs
  for (let tries = 0; ; tries++) {
    throwIfAborted(signal)
    try {
      return await attempt()
    } catch (error) {
      throwIfAborted(signal)
      const isRetried = isRetryable(error) && Date.now() < end
      if (error instanceof ColloquyError) onFailure(error, isRetried)
      if (!isRetried) throw error
      await backOff(tries, signal)
    }
  }
}

/**
 * Returns a signal that is aborted when the given one is aborted, or by `abort`. `release` removes the listener from the
 * given signal, which may live much longer.
 */
export function linkedSignal(given?: AbortSignal | null) {
  const controller = new AbortController()
  const abort = (reason?: unknown) => controller.abort(reason)
  const follow = () => abort(given!.reason)
  if (given?.aborted) follow()
  else given?.addEventListener('abort', follow)
  return { signal: controller.signal, abort, release: () => given?.removeEventListener('abort', follow) }
}
