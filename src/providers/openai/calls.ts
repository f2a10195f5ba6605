// Calls to OpenAI-compatible servers, for all providers that use one. Nothing is read from the environment, each
// request has a time limit, transient failures are retried, and close ends every running call.

import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { closedProvider } from '../ports/call-failed.ts'
import { explain, Unreachable, type Use } from './failure.ts'

/** The server, and the key for it. */
export type Endpoint = {
  /** Without a slash at its end. */
  baseUrl: string
  apiKey: string | undefined
}

export type Patience = {
  /** Time limit of one request, from the first byte out to the last one in. */
  timeoutMs: number
  /** Maximum number of retries after transient failures. */
  retries: number
  /** The pause before the first retry. It doubles with each retry; jitter takes off up to a quarter. */
  pauseMs: number
}

/** If a server requests a longer pause, the call fails instead of waiting. */
const LONGEST_PAUSE_MS = 20_000

const createClient = (baseUrl: string, apiKey: string | undefined): OpenAI =>
  new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    // Nothing from the environment. The client's own retries are off: a signal could not end them.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    ...(!apiKey && { defaultHeaders: { Authorization: null } }),
  })

/**
 * Runs one request, from the first byte sent to the last byte received.
 * @throws Unreachable after `timeoutMs`, or if `stop` ends it; other errors of the request pass through
 */
async function inTime<T>(
  timeoutMs: number,
  stop: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  stop.throwIfAborted()
  const controller = new AbortController()
  const end = () => controller.abort()
  // The client's own timeout covers only the headers of the response; this one covers the body too.
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

/** The calls of one provider. */
export type Calls = {
  /** @throws the signal's reason, or CallFailed after close */
  check(signal?: AbortSignal): void
  /** Makes a call of one or more requests. `stop` is aborted with the signal's reason, or by close. */
  run<T>(call: (stop: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>
  /**
   * Sends one request of a call, with retries.
   * @throws CallFailed, or the reason of `stop`; errors of `send` that are not about the exchange pass through
   */
  request<T>(send: (client: OpenAI, signal: AbortSignal) => Promise<T>, stop: AbortSignal): Promise<T>
  /** Ends running calls; afterwards, check and run throw. Idempotent. */
  close(): void
}

/** @param what the port and the provider's name, for the error after close */
export function createCalls(
  { baseUrl, apiKey }: Endpoint,
  what: { port: string; name: string },
  use: Use,
  patience: Patience,
): Calls {
  const client = createClient(baseUrl, apiKey)
  const running = new Set<AbortController>()
  let isClosed = false
  const closed = () => closedProvider(what.port, what.name)
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
    async request(send, stop) {
      for (let retry = 0; ; retry++) {
        try {
          return await inTime(patience.timeoutMs, stop, (signal) => send(client, signal))
        } catch (error) {
          stop.throwIfAborted()
          const { failure, isTransient, pauseMs } = explain(error, use, apiKey)
          const pause = pauseMs ?? patience.pauseMs * 2 ** retry * (1 - Math.random() / 4)
          if (!isTransient || retry >= patience.retries || pause > LONGEST_PAUSE_MS) throw failure
          await sleep(pause, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
        }
      }
    },
    close() {
      isClosed = true
      for (const stop of running) stop.abort(closed())
    },
  }
}
