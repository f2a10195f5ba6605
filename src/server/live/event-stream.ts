// GraphQL over Server-Sent Events: one operation for each response, by the "distinct connections mode" of
// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md. In a stream of a conversation's events, the id of
// each event is its seq, so that an EventSource resumes after the last event that it received.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { GraphQLError, OperationTypeNode, type ExecutionResult } from 'graphql'
import { every, type Clock } from '../../runtime/clock.ts'
import { counters } from '../../runtime/counters.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { stringify } from '../../runtime/json/text.ts'
import type { Identity } from '../auth/authenticator.ts'
import { refusalOfStream, resultWithoutHttp, tryLaterOf, withoutHttp, type StreamRefusal } from '../graphql/failures.ts'
import { EVENT_STREAM } from './frame.ts'
import type { Visit } from '../http/doors/door.ts'
import { isJson, isStreamOnly } from '../http/media-types.ts'
import { isIterable, isRefused, prepareOperation, type OperationServices, type Parameters } from './operation.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { parametersInBody, parametersInUrl, searchOf } from '../http/parameters.ts'
import { refuse, type Refusal } from '../http/refuse.ts'
import { GRAPHQL_STREAM, type StreamFormat } from './stream-format.ts'

/** Time between comments that keep proxies from closing an idle stream, ms. */
const HEARTBEAT_MS = 12_000
/**
 * The id of the last event of a completed stream. An EventSource connects again after the end of every stream, and
 * sends the last id it received. The server answers this id with status 204, which stops the EventSource.
 */
const COMPLETED = 'complete'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Without `no-transform`, some proxies compress the stream and therefore buffer it.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}
const COMMENT = ':\n\n'
const LAST_EVENT = `event: complete\nid: ${COMPLETED}\ndata:\n\n`
/** Time within which a client must read the error that ends its stream, ms. The connection is then closed. */
const ENDING_MS = 1_000

const MUTATION_BY_GET: Refusal = {
  status: 405,
  code: 'BAD_REQUEST',
  message: 'Can only perform a mutation operation from a POST request.',
  allow: 'POST',
}

export type EventStreams = {
  /**
   * Answers the request with an event stream, or refuses it, and resolves with true. Resolves with false, without an
   * answer, if the client also accepts other media types and the operation is not a subscription.
   * @param visit `leave` is called when the stream has started
   */
  answer(visit: Visit): Promise<boolean>
  /** Prepares an operation whose results are sent in that format. */
  prepare(identity: Identity, response: ServerResponse, asked: StreamParameters, format: StreamFormat): PreparedStream
  /** Ends all streams without the event `complete`, so that their clients connect again. */
  close(): void
}

const badRequest = (message: string): Refusal => ({ status: 400, code: 'BAD_REQUEST', message })

/** The parameters of a stream's operation, and the seq after which an EventSource resumes, or null. */
export type StreamParameters = { params: Parameters; resumeAfter: number | null }

/** An operation of which nothing is sent before `send`. */
export type PreparedStream = {
  /** See PreparedOperation. */
  kind: OperationTypeNode | null
  /** Starts the operation. Unexpected errors are masked. */
  run(): Promise<ExecutionResult | AsyncIterable<ExecutionResult>>
  /** Starts the event stream, and sends the results. */
  send(results: ExecutionResult | AsyncIterable<ExecutionResult>): void
}

/** Returns the seq in the header Last-Event-ID; null if it is absent; undefined if it is not an id of this server. */
export function lastSeqOf({ 'last-event-id': lastId }: IncomingMessage['headers']): number | null | undefined {
  if (!lastId) return null
  return /^\d{1,10}$/.test(String(lastId)) ? Number(lastId) : undefined
}

export const WRONG_EVENT_ID = 'Last-Event-ID is not the id of an event of this server.'

/** Whether the client has received a completed stream, so that it must be answered with 204. */
export const isCompleted = ({ headers }: IncomingMessage): boolean => headers['last-event-id'] === COMPLETED

/** Returns the parameters of the request, or its refusal. */
function readRequest({ url, headers }: IncomingMessage, body: Buffer | null): StreamParameters | Refusal {
  if (body && !isJson(headers)) {
    const message = 'For an event stream, send the operation as application/json.'
    return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message }
  }
  const params = body ? parametersInBody(body) : parametersInUrl(searchOf(url))
  if (typeof params === 'string') return badRequest(params)
  const resumeAfter = lastSeqOf(headers)
  return resumeAfter === undefined ? badRequest(WRONG_EVENT_ID) : { params, resumeAfter }
}

/** Refuses the event stream with the errors as JSON. */
function refuseWith(
  response: ServerResponse,
  errors: readonly GraphQLError[],
  { status, headers }: StreamRefusal,
): void {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  response.writeHead(status, { ...headers, ...type }).end(JSON.stringify({ errors: errors.map(withoutHttp) }))
}

/** Sends the headers, and then a comment every HEARTBEAT_MS until the response is closed. */
export function startStream(response: ServerResponse, clock: Clock): void {
  response.writeHead(200, HEADERS)
  // Browsers report the stream as open only when the first bytes have arrived.
  response.write(COMMENT)
  const stop = every(clock, HEARTBEAT_MS, () => {
    if (response.writableLength === 0 && !response.writableEnded) response.write(COMMENT)
  })
  response.once('close', () => void stop())
}

/** One stream. `isRefused` is true once its token has expired or was revoked. */
type Stream = {
  identity: Identity
  response: ServerResponse
  format: StreamFormat
  outbox: Outbox
  isRefused: boolean
  /** Whether events may be added to the outbox. */
  readonly isLive: boolean
}

const createStream = (identity: Identity, response: ServerResponse, format: StreamFormat): Stream => ({
  identity,
  response,
  format,
  outbox: createOutbox(response, EVENT_STREAM),
  isRefused: false,
  get isLive() {
    return !this.isRefused && !response.destroyed
  },
})

function send({ outbox, format }: Stream, result: ExecutionResult): void {
  const bytes = Buffer.from(stringify(format.valueOf(resultWithoutHttp(result))))
  outbox.add(format.withoutId, { bytes, ready: null, estimate: bytes.length })
}

/**
 * When the token expires or is revoked, adds an error to the outbox and calls `stop`. The stream then ends without the
 * event `complete`, so that the client connects again with a new token and resumes.
 */
function endWithToken(stream: Stream, clock: Clock, stop: () => void): void {
  const { identity, response } = stream
  const stopWatching = identity.watch(({ code, message }) => {
    if (!stream.isLive) return
    send(stream, { errors: [new GraphQLError(message, { extensions: { code } })] })
    stream.isRefused = true
    clock.setTimeout(() => response.destroy(), ENDING_MS).unref()
    stop()
  })
  response.once('close', stopWatching)
}

/** Adds each result to the outbox, and ends the stream. Stops early if the client disconnects or its token ends. */
async function sendResults(
  stream: Stream,
  outcome: ExecutionResult | AsyncIterable<ExecutionResult>,
  { deps, mask }: OperationServices,
): Promise<void> {
  const { response, outbox } = stream
  try {
    if (isIterable(outcome)) {
      const iterator = outcome[Symbol.asyncIterator]()
      const stop = () => void iterator.return?.().catch(mask)
      response.once('close', stop)
      endWithToken(stream, deps.clock, stop)
      if (response.destroyed) stop()
      for (let next = await iterator.next(); !next.done && !stream.isRefused; next = await iterator.next()) {
        send(stream, next.value)
        if (outbox.isFull()) await outbox.drained()
      }
    } else send(stream, outcome)
  } catch (error) {
    send(stream, { errors: [mask(error)] })
  }
  await outbox.emptied()
  if (!response.destroyed && !response.writableEnded) response.end(stream.isRefused ? undefined : LAST_EVENT)
}

/** Starts streams, and ends those that are open when the server closes. */
function createOpenStreams(clock: Clock) {
  const open = new Set<ServerResponse>()
  let isClosing = false
  const interrupt = (response: ServerResponse) => response.end(() => response.req.socket.end())
  return {
    start(response: ServerResponse): void {
      startStream(response, clock)
      if (isClosing) return void interrupt(response)
      open.add(response)
      counters.eventStreams += 1
      response.once('close', () => {
        open.delete(response)
        counters.eventStreams -= 1
      })
    },
    close(): void {
      isClosing = true
      for (const response of open) interrupt(response)
    },
  }
}

export function createEventStreams(services: OperationServices): EventStreams {
  const { mask, deps } = services
  const open = createOpenStreams(deps.clock)

  function prepare(
    identity: Identity,
    response: ServerResponse,
    { params, resumeAfter }: StreamParameters,
    format: StreamFormat,
  ): PreparedStream {
    const stream = createStream(identity, response, format)
    const onSubscribed = (actor: Viewer) => {
      if (!response.destroyed) response.once('close', deps.connections.open(actor))
    }
    const { kind, run } = prepareOperation(
      services,
      {
        viewer: identity.viewer,
        onSubscribed,
        response,
        operation: stream,
        isGone: () => response.destroyed,
        outbox: stream.outbox,
        format,
        resumeAfter,
      },
      params,
    )
    return {
      kind,
      async run() {
        const outcome = await run().catch((error: unknown) => [mask(error)])
        return isRefused(outcome) ? { errors: outcome } : outcome
      },
      send(results) {
        if (!response.destroyed) open.start(response)
        void sendResults(stream, results, services)
      },
    }
  }

  return {
    prepare,
    async answer({ identity, request, response, body, leave }) {
      const isOnly = isStreamOnly(request.headers.accept)
      const asked = readRequest(request, body)
      if (isCompleted(request)) {
        response.writeHead(204).end()
        return true
      }
      if ('status' in asked) {
        if (isOnly) refuse(response, asked)
        return isOnly
      }
      // Clients such as urql accept event streams for every operation. Their queries are not parsed here.
      if (!isOnly && !asked.params.query.includes('subscription')) return false
      const stream = prepare(identity, response, asked, GRAPHQL_STREAM)
      if (stream.kind !== OperationTypeNode.SUBSCRIPTION && !isOnly) return false
      if (stream.kind === OperationTypeNode.MUTATION && !body) {
        refuse(response, MUTATION_BY_GET)
        return true
      }
      const result = await stream.run()
      const { errors = [], data }: ExecutionResult = isIterable(result) ? {} : result
      const tryLater = isIterable(result) ? null : tryLaterOf(result)
      const refusal = tryLater ?? (data === undefined && errors[0] ? refusalOfStream(errors[0]) : null)
      if (refusal) refuseWith(response, errors, refusal)
      else {
        stream.send(result)
        leave()
      }
      return true
    },
    close: open.close,
  }
}
