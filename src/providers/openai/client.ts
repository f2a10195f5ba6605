// The client of OpenAI's kind of API, as all that ask it have it: told nothing but what config.ts read, each request in
// time, and every call under way ended at once when it is closed.

import OpenAI from 'openai'
import { Unreachable } from './failure.ts'

export const createClient = (baseUrl: string, apiKey: string | undefined): OpenAI =>
  new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    // Nothing from the environment; no retries but ours, which a signal can end.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    ...(!apiKey && { defaultHeaders: { Authorization: null } }),
  })

/**
 * One request, from the first byte out to the last one in.
 * @throws Unreachable where that takes longer than `timeoutMs`, or `stop` ends it; or what the request throws
 */
export async function inTime<T>(
  timeoutMs: number,
  stop: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  stop.throwIfAborted()
  const controller = new AbortController()
  const end = () => controller.abort()
  // The client's own timeout ends with the headers of the answer; this one with its last byte.
  const timer = setTimeout(end, timeoutMs)
  stop.addEventListener('abort', end, { once: true })
  try {
    return await request(controller.signal)
  } catch (error) {
    if (controller.signal.aborted) throw new Unreachable(`no answer within ${timeoutMs / 1000} s`)
    throw error
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', end)
  }
}

/** Calls of a provider that can be closed. */
export type Calls = {
  /** @throws the signal's reason, or what rejects after close */
  check(signal?: AbortSignal): void
  /** Makes a call, which `stop` ends: its reason is that of the signal, or what rejects after close. */
  run<T>(call: (stop: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Ends what runs. May be called twice. */
  close(): void
}

/** @param closed what rejects after close */
export function createCalls(closed: () => Error): Calls {
  const running = new Set<AbortController>()
  let isClosed = false
  function check(signal?: AbortSignal): void {
    signal?.throwIfAborted()
    if (isClosed) throw closed()
  }
  return {
    check,
    async run(call, signal) {
      check(signal)
      const stop = new AbortController()
      const end = () => stop.abort(signal?.reason)
      signal?.addEventListener('abort', end, { once: true })
      running.add(stop)
      try {
        return await call(stop.signal)
      } finally {
        running.delete(stop)
        signal?.removeEventListener('abort', end)
      }
    },
    close() {
      isClosed = true
      for (const stop of running) stop.abort(closed())
    },
  }
}
