// One client's connection: identifies the viewer, sends queries and mutations with retries, and subscribes over
// WebSocket or Server-Sent Events. Retries only failures after which the same call may succeed, and reports them.

import type { RequestOptions, ResumeOptions, SendOptions } from '../verbs/calls.ts'
import { READ_VIEWER } from '../verbs/documents.ts'
import { ColloquyError, errorOfResult, payloadOf } from './errors.ts'
import { absolute, endpointOf, namesOf, request, subscribeByEvents, type Result } from './http.ts'
import { createOutbox, type Outbox } from '../conversation/outbox.ts'
import { createReports, type ReportOptions, type Reports } from './reports.ts'
import { backOff, isRetryable, retry } from './retry.ts'
import { createSockets, type WebSocketClass } from './socket.ts'
import { upload, type Upload } from './upload.ts'
import type { Attachment } from '../generated.ts'

export type ConnectOptions = ReportOptions & {
  /**
   * URL of the GraphQL endpoint, for example `https://example.org/graphql`. In a browser, or with an own `fetch`, it may
   * be a path.
   */
  url: string
  /**
   * Token of the viewer, or a function that returns a current one. The function is called before each request and
   * connection. Omit it for a server that does not authenticate clients.
   */
  token?: string | (() => string | Promise<string>)
  /**
   * Actor for whom the client reads and writes. Defaults to the actor of the token. With a token, another actor needs
   * the right `act-as`.
   */
  actor?: string
  /** Tenant of the viewer, on a server that does not authenticate clients. Defaults to `default`. */
  tenant?: string
  /** Time for which a failed request is retried, ms. Defaults to 60,000. Subscriptions are resumed without a limit. */
  retryForMs?: number
  /** Time within which the server must answer a request, ms. Defaults to 15,000. */
  timeoutMs?: number
  /**
   * WebSocket class for subscriptions, for example from the package `ws`; null for Server-Sent Events. Defaults to the
   * global WebSocket, which browsers and Node 22 have, or else to Server-Sent Events.
   */
  webSocket?: WebSocketClass | null
  /** Function that sends requests. Defaults to the global `fetch`. */
  fetch?: typeof fetch
}

/** A function that is awaited before each attempt of a call. */
type Before = { before?(): Promise<unknown> }

export type Connection = {
  /** The variable or input field `as` of operations: the option `actor` if the client has a token, else undefined. */
  readonly as: string | undefined
  /** Returns the actor in whose view the client reads. */
  actor(options?: RequestOptions): Promise<string>
  /** Sends a query or mutation, and repeats it after a temporary failure. @throws ColloquyError */
  send(query: string, variables: Record<string, unknown>, options?: SendOptions & Before): Promise<Record<string, any>>
  /**
   * Calls a field with the argument `input` whose result may be an error, and returns its payload. The call must be safe
   * to repeat, unless `once` is true. `variables` are those besides `input`. @throws ColloquyError
   */
  mutate(
    document: string,
    input: Record<string, unknown>,
    options?: SendOptions & Before & { variables?: Record<string, unknown> },
  ): Promise<any>
  /** Uploads a file, and repeats it after a temporary failure. @throws ColloquyError */
  upload(file: Omit<Upload, 'as' | 'timeoutMs'>, options?: Omit<SendOptions, 'once'>): Promise<Attachment>
  /** Returns the absolute URL of a path of the server; in a browser, that of a path is a path, too. */
  resolve(url: string): string
  /**
   * Subscribes, and subscribes again after each loss of the connection, each time with new variables from `variables`.
   * Yields the value of the document's only field. Ends when the server completes the subscription or the signal is
   * aborted.
   * @throws ColloquyError for a permanent failure
   */
  subscribe(query: string, variables: () => Record<string, unknown>, options?: ResumeOptions): AsyncGenerator<any, void>
  /** The turns that are not yet acknowledged. */
  readonly outbox: Outbox
  /** Reports a failure that no caller receives; see the option `onError`. */
  readonly report: Reports['report']
  /** Ends all subscriptions, and closes the sockets. */
  close(): Promise<void>
}

/** Time within which the server must accept a file, ms. */
const UPLOAD_MS = 120_000

/** Number of consecutive INTERNAL_SERVER_ERROR failures after which a subscription is no longer resumed. */
const MAX_DEFECTS = 10

/** Whether a subscription can be resumed after the error. `defects`: consecutive INTERNAL_SERVER_ERROR failures. */
const isResumable = (error: unknown, defects: number): boolean =>
  // LIMIT_REACHED may be temporary: the server counts the subscriptions of a lost connection until it notices the loss.
  error instanceof ColloquyError && (error.code === 'LIMIT_REACHED' || (isRetryable(error) && defects < MAX_DEFECTS))

/** Returns the endpoint of requests, and the sockets of subscriptions; null for Server-Sent Events. */
function endpointsOf({ url, token, actor, tenant, timeoutMs = 15_000, fetch, webSocket }: ConnectOptions) {
  const WebSocket =
    webSocket === undefined ? (globalThis as { WebSocket?: WebSocketClass }).WebSocket : (webSocket ?? undefined)
  const names = token === undefined ? namesOf({ tenant, actor }) : {}
  const endpoint = endpointOf({ url, token, names, timeoutMs, fetch })
  const { credentials } = endpoint
  const sockets = WebSocket
    ? createSockets({ url: () => absolute(url).replace(/^http/, 'ws'), WebSocket, credentials })
    : null
  return { endpoint, sockets }
}

export function createConnection(options: ConnectOptions): Connection {
  const { url, actor, retryForMs = 60_000 } = options
  // A page that is rendered on a server creates a client with a path there, without using it.
  if (url?.[0] !== '/') absolute(url)
  const as = options.token === undefined ? undefined : actor
  const { endpoint, sockets } = endpointsOf(options)
  const closing = new AbortController()
  /** Whether the server has answered a request. */
  let hasAnswered = false
  const reports = createReports(options)

  const send: Connection['send'] = (query, variables, { signal, once, before, timeoutMs } = {}) => {
    reports.started()
    const attempt = async () => {
      await before?.()
      const data = await request(endpoint, { query, variables }, signal, timeoutMs)
      reports.answered()
      hasAnswered = true
      return data
    }
    return retry(attempt, { forMs: once ? 0 : retryForMs, signal, onFailure: reports.failed })
  }

  return {
    as,
    send,
    upload(file, { signal, timeoutMs = UPLOAD_MS } = {}) {
      const attempt = () => upload(endpoint, { ...file, as, timeoutMs }, signal)
      return retry(attempt, { forMs: retryForMs, signal, onFailure: reports.failed })
    },
    resolve: (path) => (URL.canParse(endpoint.url) ? new URL(path, endpoint.url).href : path),
    async actor(options) {
      return actor ?? (await send(READ_VIEWER, {}, options)).viewer.actor
    },
    async mutate(document, input, options) {
      const given = as === undefined ? input : { as, ...input }
      const data = await send(document, { ...options?.variables, input: given }, options)
      return payloadOf(Object.values(data)[0])
    },
    async *subscribe(query, variables, { signal: ending, onConnection } = {}) {
      const signal = ending ? AbortSignal.any([ending, closing.signal]) : closing.signal
      const live = () => {
        reports.answered()
        onConnection?.('live')
      }
      const attempt = () => {
        const operation = { query, variables: { ...variables(), ...(as !== undefined && { as }) } }
        return sockets
          ? sockets.subscribe(operation, live, signal)
          : subscribeByEvents(endpoint, operation, live, signal)
      }
      for (let failures = 0, defects = 0; !signal.aborted; failures++) {
        try {
          // A WebSocket that cannot be opened does not say why, but a request does.
          if (!hasAnswered) await send(READ_VIEWER, { as }, { signal, once: true })
          for await (const value of valuesOf(attempt())) {
            failures = defects = 0
            reports.answered()
            yield value
          }
          return
        } catch (error) {
          if (signal.aborted) return
          defects = error instanceof ColloquyError && error.code === 'INTERNAL_SERVER_ERROR' ? defects + 1 : 0
          const isResumed = isResumable(error, defects)
          if (error instanceof ColloquyError) reports.failed(error, isResumed)
          if (!isResumed) throw error
          onConnection?.('waiting', error as ColloquyError)
          await backOff(failures, signal)
        }
      }
    },
    outbox: createOutbox(),
    report: reports.report,
    async close() {
      // Before the subscriptions end, because their end is no failure.
      reports.closed()
      closing.abort()
      await sockets?.close()
    },
  }
}

/** The values of the only field of each result. @throws ColloquyError for a result with errors */
async function* valuesOf(results: AsyncIterable<Result>): AsyncGenerator<any, void> {
  for await (const { data, errors } of results) {
    if (errors?.length || !data) throw errorOfResult(errors ?? [])
    yield Object.values(data)[0]
  }
}
