// GraphQL over HTTP with `fetch`: one POST for each query and mutation, and Server-Sent Events for a subscription.

import { ColloquyError, errorOfResult, networkError, type GraphQLErrors } from './errors.ts'
import { linkedSignal, sleep } from './retry.ts'

export type Operation = { query: string; variables: Record<string, unknown> }
/** One result of an operation. */
export type Result = { data?: Record<string, any> | null; errors?: GraphQLErrors }
/** The names of a viewer without a token, or a current token. */
export type Credentials = Record<string, string> & { token?: string }
export type Endpoint = {
  /** @throws ColloquyError (BAD_URL) */
  readonly url: string
  fetch: typeof fetch
  /** Returns the credentials of a request. */
  credentials(): Promise<Credentials>
  /** Time within which the server must answer a query or mutation, ms. */
  timeoutMs: number
}
/** See ConnectOptions of connection.ts. `names` are sent with each request. */
type EndpointOptions = {
  url: string
  token: string | (() => string | Promise<string>) | undefined
  names: Record<string, string>
  timeoutMs: number
  fetch: typeof fetch | undefined
}

/** Time without any data after which an event stream counts as lost, ms. The server sends a comment every 12 s. */
const SILENCE_MS = 30_000
/** Maximum length of one event, in UTF-16 units. A turn has at most 64 MiB, and an event contains its text twice. */
const MAX_EVENT = 160 * 1024 * 1024

/** Returns the absolute URL. @throws ColloquyError (BAD_URL) */
export function absolute(url: string): string {
  try {
    const { protocol, href } = new URL(url, (globalThis as { location?: { href: string } }).location?.href)
    if (/^https?:$/.test(protocol)) return href
  } catch {
    // Not a URL; or a path, outside of a browser.
  }
  throw new ColloquyError(
    'BAD_URL',
    `The option \`url\` is ${JSON.stringify(url)}, and not a URL with http: or https:.`,
  )
}

/** Returns the names of a viewer, as headers of a request. */
export const namesOf = ({ tenant, actor }: { tenant?: string | undefined; actor?: string | undefined }) => ({
  ...(tenant !== undefined && { 'x-tenant': encodeURIComponent(tenant) }),
  ...(actor !== undefined && { 'x-actor': encodeURIComponent(actor) }),
})

/** Returns the endpoint of a server. With an own `fetch`, the URL may be one that only this function knows. */
export const endpointOf = ({ url, token, names, timeoutMs, fetch: send }: EndpointOptions): Endpoint => ({
  get url() {
    return send ? url : absolute(url)
  },
  fetch: send ?? ((...args: Parameters<typeof fetch>) => fetch(...args)),
  credentials: async () =>
    token === undefined ? names : { ...names, token: typeof token === 'function' ? await token() : token },
  timeoutMs,
})

/** Sends the operation. @throws ColloquyError with the code NETWORK */
async function post(endpoint: Endpoint, operation: Operation, accept: string, signal: AbortSignal): Promise<Response> {
  const { token, ...names } = await endpoint.credentials()
  const headers: Record<string, string> = { 'content-type': 'application/json', accept, ...names }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const body = JSON.stringify(operation)
  const { url } = endpoint
  try {
    return await endpoint.fetch(url, { method: 'POST', headers, body, signal })
  } catch (error) {
    throw networkError(error)
  }
}

/** Reads an answer; null if it is not a GraphQL result. @throws ColloquyError with the code NETWORK */
async function resultOf(response: Response): Promise<Result | null> {
  const text = await response.text().catch((error: unknown) => {
    throw networkError(error)
  })
  try {
    const result = JSON.parse(text) as Result
    if (result.data !== undefined || result.errors) return result
  } catch {
    // An answer of a proxy, for example.
  }
  return null
}

/** The error of an answer without data. */
function errorOfAnswer({ status, url }: Response, result: Result | null): ColloquyError {
  if (result) return errorOfResult(result.errors ?? [])
  const isRefused = status === 401 || status === 403
  const code = status >= 500 || status === 429 ? 'UNAVAILABLE' : isRefused ? 'UNAUTHENTICATED' : 'BAD_RESPONSE'
  return new ColloquyError(code, `The answer of ${url} with status ${status} is not a GraphQL result.`)
}

/**
 * Sends a query or mutation once, and returns the answer. `result` is null if it is not a GraphQL result.
 * @throws ColloquyError with the code NETWORK or TIMEOUT
 */
export async function exchange(
  endpoint: Endpoint,
  operation: Operation,
  given?: AbortSignal | null,
  timeoutMs = endpoint.timeoutMs,
): Promise<{ response: Response; result: Result | null }> {
  const { signal, abort, release } = linkedSignal(given)
  const late = new ColloquyError('TIMEOUT', `The server did not answer within ${timeoutMs / 1000} s.`)
  const timer = setTimeout(() => abort(late), timeoutMs)
  try {
    const response = await post(endpoint, operation, 'application/graphql-response+json, application/json', signal)
    return { response, result: await resultOf(response) }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    clearTimeout(timer)
    release()
  }
}

/** Runs a query or mutation once, and returns its data. @throws ColloquyError */
export async function request(...args: Parameters<typeof exchange>): Promise<Record<string, any>> {
  const { response, result } = await exchange(...args)
  if (result?.errors?.length || !result?.data) throw errorOfAnswer(response, result)
  return result.data
}

/** Reads the next bytes of a stream. @throws ColloquyError with the code NETWORK at its end or after SILENCE_MS */
async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  const silence = new AbortController()
  const read = reader.read().then(
    ({ value }) => value ?? null,
    (error: unknown) => networkError(error),
  )
  const chunk = await Promise.race([read, sleep(SILENCE_MS, silence.signal).then(() => null)])
  silence.abort()
  if (chunk instanceof Error) throw chunk
  // A server that shuts down ends the stream without the event `complete`.
  if (chunk === null) throw networkError()
  return chunk
}

/** Parses the lines of one event. @internal */
export function parseEvent(lines: string): { event: string; data: string } {
  const field = (name: string) =>
    lines
      .split(/\r?\n/)
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
      .join('\n')
  return { event: field('event'), data: field('data') }
}

/** Yields the events of a stream as their bytes arrive. */
async function* eventsOf(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const from = Math.max(0, text.length - 3)
    text += decoder.decode(await readChunk(reader), { stream: true })
    let start = 0
    const blank = /\r?\n\r?\n/g
    blank.lastIndex = from
    for (let end = blank.exec(text); end; end = blank.exec(text)) {
      yield parseEvent(text.slice(start, end.index))
      start = blank.lastIndex
    }
    text = text.slice(start)
    if (text.length > MAX_EVENT) throw new ColloquyError('BAD_RESPONSE', `An event is longer than ${MAX_EVENT}.`)
  }
}

/**
 * Subscribes once. Ends when the server completes the subscription or the signal is aborted. Reads the stream only as
 * fast as its results are consumed.
 * @throws ColloquyError
 */
export async function* subscribeByEvents(
  endpoint: Endpoint,
  operation: Operation,
  onStart: () => void,
  given?: AbortSignal | null,
): AsyncGenerator<Result, void> {
  const { signal, abort, release } = linkedSignal(given)
  try {
    const response = await post(endpoint, operation, 'text/event-stream', signal)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
      throw errorOfAnswer(response, await resultOf(response))
    }
    onStart()
    for await (const { event, data } of eventsOf(response.body.getReader())) {
      if (event === 'complete') return
      if (event === 'next') yield JSON.parse(data) as Result
    }
  } catch (error) {
    if (!given?.aborted) throw error
  } finally {
    abort()
    release()
  }
}
