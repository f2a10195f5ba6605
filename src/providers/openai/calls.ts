// Calls to a server that speaks OpenAI's API, for all providers that use one: nothing is taken from the environment, each
// request has a time limit and is retried where it may succeed in a moment, and close ends every call that runs.

import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { closedProvider } from '../ports/call-failed.ts'
import { explain, Unreachable, type Use } from './failure.ts'

/** Where the server is. */
export type Endpoint = {
  /** Without a slash at its end. */
  baseUrl: string
  apiKey: string | undefined
}

export type Patience = {
  /** Time limit of one request, from the first byte out to the last one in. */
  timeoutMs: number
  /** Further attempts after one that failed and may succeed later. */
  retries: number
  /** The pause before the first retry. It doubles, and is shortened by up to a quarter so that clients spread out. */
  pauseMs: number
}

/** A server that asks for a longer pause fails the call: somebody waits for it. */
const LONGEST_PAUSE_MS = 20_000

const createClient = (baseUrl: string, apiKey: string | undefined): OpenAI =>
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
async function inTime<T>(
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

/** The calls of one provider. */
export type Calls = {
  /** @throws the signal's reason, or CallFailed after close */
  check(signal?: AbortSignal): void
  /** Makes a call of one or more requests. `stop` is aborted with the signal's reason, or by close. */
  run<T>(call: (stop: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>
  /**
   * One request of a call, with retries.
   * @throws CallFailed, the reason of `stop`, or what `send` throws that is no failure of the exchange
   */
  request<T>(send: (client: OpenAI, signal: AbortSignal) => Promise<T>, stop: AbortSignal): Promise<T>
  /** Ends what runs; afterwards, check and run fail. May be called twice. */
  close(): void
}

/** @param what the port, and the provider's name, for the error after close */
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
          const { failure, isPassing, pauseMs } = explain(error, use, apiKey)
          const pause = pauseMs ?? patience.pauseMs * 2 ** retry * (1 - Math.random() / 4)
          if (!isPassing || retry >= patience.retries || pause > LONGEST_PAUSE_MS) throw failure
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
