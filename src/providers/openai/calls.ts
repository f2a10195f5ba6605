// Calls OpenAI-compatible servers, for all providers that use one. Each request has a time limit, transient failures
// are retried, and close() ends every running call. Reads no environment variables.

import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { backoffMs } from '../../runtime/clock.ts'
import { closedProvider } from '../ports/call-failed.ts'
import { explain, Unreachable, type ErrorContext } from './failure.ts'

/** An API and its key. */
export type Endpoint = {
  /** Base URL, without a trailing slash. */
  baseUrl: string
  /** Undefined for servers that require no key. */
  apiKey: string | undefined
}

/** Time limits and retries of requests. */
export type RetryPolicy = {
  /** Time limit of one request including the response body, ms. */
  timeoutMs: number
  /** Maximum number of retries after transient failures. */
  retries: number
  /** Pause before the first retry, ms. It doubles with each retry; up to a quarter of it is removed at random. */
  pauseMs: number
}

/** Maximum pause before a retry, ms. If the server requests a longer one, the call fails. */
const MAX_PAUSE_MS = 20_000

/** Maximum size of the body of an error, in bytes. The rest is not read. */
const MAX_ERROR_BYTES = 64 * 1024

/** Fetches, and cuts the body of an error to MAX_ERROR_BYTES. */
const fetchWithShortErrors: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (response.ok || !response.body) return response
  let bytes = 0
  const shorten = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, MAX_ERROR_BYTES - bytes))
      bytes += chunk.length
      if (bytes >= MAX_ERROR_BYTES) controller.terminate()
    },
  })
  return new Response(response.body.pipeThrough(shorten), response)
}

export const createClient = (baseUrl: string, apiKey: string | undefined): OpenAI =>
  new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    // Null, so that the client reads none of these from the environment.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    // The pauses of the client's own retries ignore the signal.
    maxRetries: 0,
    fetch: fetchWithShortErrors,
    ...(!apiKey && { defaultHeaders: { Authorization: null } }),
  })

/**
 * Runs one request, including its response body, with a time limit.
 * @throws Unreachable after `timeoutMs`, or if `stop` is aborted during the request; other errors of the request
 */
async function inTime<T>(
  timeoutMs: number,
  stop: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  stop.throwIfAborted()
  const controller = new AbortController()
  const end = () => controller.abort()
  // The client's own time limit excludes the response body.
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

/** Makes the calls of one provider. A call has one or more requests. */
export type Calls = {
  /** @throws the signal's reason if it is aborted, or CallFailed after close */
  check(signal?: AbortSignal): void
  /** Makes one call. Its `stop` signal is aborted with the reason of `signal`, or with CallFailed by close. */
  run<T>(call: (stop: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>
  /**
   * Sends one request of a call, with retries.
   * @throws CallFailed, or the reason of `stop`, or an error of `send` that is unrelated to the request
   */
  request<T>(send: (client: OpenAI, signal: AbortSignal) => Promise<T>, stop: AbortSignal): Promise<T>
  /** Ends running calls. Later calls of `check` throw, and later calls of `run` reject. Idempotent. */
  close(): void
}

/** Creates the calls of one provider. `provider` has its port and name, for the error after close. */
export function createCalls(
  { baseUrl, apiKey }: Endpoint,
  provider: { port: string; name: string },
  context: ErrorContext,
  retryPolicy: RetryPolicy,
): Calls {
  const client = createClient(baseUrl, apiKey)
  const running = new Set<AbortController>()
  let isClosed = false
  const closed = () => closedProvider(provider.port, provider.name)
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
          return await inTime(retryPolicy.timeoutMs, stop, (signal) => send(client, signal))
        } catch (error) {
          stop.throwIfAborted()
          const { failure, isTransient, pauseMs } = explain(error, context)
          const pause = pauseMs ?? backoffMs({ firstMs: retryPolicy.pauseMs, jitter: 1 / 4 }, retry + 1)
          if (!isTransient || retry >= retryPolicy.retries || pause > MAX_PAUSE_MS) throw failure
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
