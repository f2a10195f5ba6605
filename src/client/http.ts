// GraphQL over HTTP with `fetch`: one POST for each query and mutation, and Server-Sent Events for a subscription.

import { ColloquyError, errorOfResult, networkError, type GraphQLErrors } from './errors.ts'
import { linkedSignal, sleep } from './retry.ts'

export type Operation = { query: string; variables: Record<string, unknown> }
/** One result of an operation. */
export type Result = { data?: Record<string, any> | null; errors?: GraphQLErrors }
export type Endpoint = {
  /** @throws ColloquyError (BAD_URL) */
  readonly url: string
  fetch: typeof fetch
  /** Returns the headers of a request, with a current token. */
  headers(): Promise<Record<string, string>>
  /** Time within which the server must answer a query or mutation, ms. */
  timeoutMs: number
}

/** Time without any data after which an event stream counts as lost, ms. The server sends a comment every 12 s. */
const SILENCE_MS = 30_000
/** Maximum length of one event, in UTF-16 units. A turn has at most 64 MiB, and an event contains its text twice. */
const MAX_EVENT = 160 * 1024 * 1024

/** Sends the operation. @throws ColloquyError with the code NETWORK */
async function post(endpoint: Endpoint, operation: Operation, accept: string, signal: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept, ...(await endpoint.headers()) }
  const body = JSON.stringify(operation)
  const { url } = endpoint
  try {
    return await endpoint.fetch(url, { method: 'POST', headers, body, signal })
  } catch (error) {
    throw networkError(error)
  }
}

/** Reads a JSON answer. @throws ColloquyError if it is not a GraphQL result */
async function resultOf(response: Response): Promise<Result> {
  const text = await response.text().catch((error: unknown) => {
    throw networkError(error)
  })
  try {
    const result = JSON.parse(text) as Result
    if (result.data !== undefined || result.errors) return result
  } catch {
    // An answer of a proxy, for example.
  }
  const { status, url } = response
  const isRefused = status === 401 || status === 403
  const code = status >= 500 || status === 429 ? 'UNAVAILABLE' : isRefused ? 'UNAUTHENTICATED' : 'BAD_RESPONSE'
  throw new ColloquyError(code, `The answer of ${url} with status ${status} is not a GraphQL result.`)
}

/** Runs a query or mutation once, and returns its data. @throws ColloquyError */
export async function request(
  endpoint: Endpoint,
  operation: Operation,
  given?: AbortSignal | null,
  timeoutMs = endpoint.timeoutMs,
) {
  const { signal, abort, release } = linkedSignal(given)
  const late = new ColloquyError('TIMEOUT', `The server did not answer within ${timeoutMs / 1000} s.`)
  const timer = setTimeout(() => abort(late), timeoutMs)
  try {
    const response = await post(endpoint, operation, 'application/graphql-response+json, application/json', signal)
    const { data, errors } = await resultOf(response)
    if (errors?.length || !data) throw errorOfResult(errors ?? [])
    return data
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    clearTimeout(timer)
    release()
  }
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

/** Parses the lines of one event. */
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
      throw errorOfResult((await resultOf(response)).errors ?? [])
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
