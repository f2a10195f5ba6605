// Answers POST /graphql. The fast path handles queries and mutations in JSON whose document yoga has already validated;
// it bypasses yoga's Request and Response. event-stream.ts answers event streams. Yoga handles every other request, and
// formats every result that has errors, extensions or no data.
//
// FAST_POST=1 answers 2.2 times as many requests per second as FAST_POST=0 for one conversation with 4 fields, 1.7
// times as many for appendTurn, and 1.3 times as many for a page of 50 turns. The processor time per request is lower
// by the factors 2.3, 1.8 and 1.7. Measured by `npm run bench -- fast-post`.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { getOperationAST, OperationTypeNode, type ExecutionResult, type GraphQLError } from 'graphql'
import type { Viewer } from '../domain/view.ts'
import type { Identity } from './auth/authenticator.ts'
import type { TenantGates } from '../domain/tenant-gate.ts'
import { ServerBusy } from '../errors.ts'
import type { RequestContext } from '../graphql/request.ts'
import { parseInSteps, stringifyInSteps } from '../json-steps.ts'
import { stringify } from '../json-text.ts'
import { yieldToEventLoop } from '../yield.ts'
import type { WithResult, KnownDocuments } from './known-documents.ts'
import { LARGE_ANSWER_BYTES } from './large-answers.ts'
import type { WithBody } from './parsed-body.ts'
import { refuse } from './refuse.ts'
import type { EventStreams } from './event-stream.ts'
import { asksForStream } from './media-types.ts'
import type { Yoga } from './yoga.ts'

/** Accepted values of Content-Type. */
const BODY_TYPES = new Set(['application/json', 'application/json; charset=utf-8', 'application/json;charset=utf-8'])
/** Content-Type of the response, by the first media type of Accept. Like yoga, this ignores weights. */
const RESPONSE_TYPES = new Map([
  ['*/*', 'application/json; charset=utf-8'],
  ['application/json', 'application/json; charset=utf-8'],
  ['application/graphql-response+json', 'application/graphql-response+json; charset=utf-8'],
])
const PARAMETERS = new Set(['query', 'variables', 'operationName', 'extensions'])

/** Returns the Content-Type of the response; undefined if the fast path does not handle the request. */
function mediaTypeOf({ url, headers }: IncomingMessage): string | undefined {
  if (url !== '/graphql' || headers['content-length'] === '0' || !BODY_TYPES.has(headers['content-type'] ?? '')) return
  // Responses to pages of other origins need CORS headers.
  if (headers.origin !== undefined) return
  return RESPONSE_TYPES.get((headers.accept ?? '*/*').split(',', 1)[0]!)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a function that executes the request; null if yoga must handle it. */
function prepare(
  { yoga, documents }: Pick<PostServices, 'yoga' | 'documents'>,
  viewer: Viewer,
  response: ServerResponse,
  params: Record<string, unknown>,
) {
  for (const name in params) if (!PARAMETERS.has(name)) return null
  const { query, variables, operationName, extensions } = params
  if (typeof query !== 'string' || (operationName != null && typeof operationName !== 'string')) return null
  if ((variables != null && !isObject(variables)) || (extensions != null && !isObject(extensions))) return null
  const document = documents.get(query)
  const operation = document && getOperationAST(document, operationName)
  if (!operation || operation.operation === OperationTypeNode.SUBSCRIPTION) return null
  return async (): Promise<{ result: ExecutionResult; bytes: number }> => {
    const { schema, contextFactory, execute } = yoga.getEnveloped({ viewer, params, res: response })
    const contextValue = (await contextFactory()) as RequestContext
    const args = { schema, document, operationName, variableValues: variables, contextValue }
    const result = (await execute(args)) as ExecutionResult
    return { result, bytes: contextValue.work.bytesAnswered }
  }
}

/** Size of a body, in bytes, from which it waits for the tenant's gate `bodies` before it is parsed and answered. */
const LARGE_BODY_BYTES = 32 * 1024
/** Size of a body, in bytes, from which it waits for the gate `batches` instead, which admits one at a time. */
const BATCH_BODY_BYTES = 1024 * 1024

/** Sends the result as JSON. */
async function sendResult(response: ServerResponse, type: string, result: ExecutionResult, bytes: number) {
  const pieces = bytes < LARGE_ANSWER_BYTES ? [Buffer.from(stringify(result))] : await stringifyInSteps(result)
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  response.writeHead(200, { 'content-type': type, 'content-length': length })
  if (pieces.length === 1) response.end(pieces[0])
  // Not awaited, because a client that reads slowly must not delay other requests of its tenant.
  else void sendPieces(response, pieces)
}

/** Size of the first buffer for a body that arrives in parts, in bytes. */
const FIRST_BUFFER_BYTES = 64 * 1024

/**
 * Calls `onBody` when the whole body has arrived. A body that arrives in parts is copied into a buffer that grows with it:
 * a buffer of the declared length would let a client occupy memory without sending anything.
 */
function readBody(request: IncomingMessage, length: number, onBody: (body: Buffer) => void): void {
  let body: Buffer = Buffer.alloc(0)
  let received = 0
  request.on('data', (part: Buffer) => {
    if (part.length === length) {
      body = part
      received = length
      return
    }
    if (received + part.length > body.length) {
      const size = Math.max(FIRST_BUFFER_BYTES, 2 * body.length, received + part.length)
      const larger = Buffer.allocUnsafeSlow(Math.min(length, size))
      body.copy(larger, 0, 0, received)
      body = larger
    }
    received += part.copy(body, received)
  })
  request.on('end', () => onBody(body.subarray(0, received)))
}

/** Sends one piece in each iteration of the event loop, because sending many at once would block it. */
async function sendPieces(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  for (const piece of pieces) {
    if (response.destroyed) return
    if (!response.write(piece)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), closed])
    await yieldToEventLoop()
  }
  response.end()
}

export type PostServices = {
  yoga: Yoga
  documents: KnownDocuments
  mask(error: unknown): GraphQLError
  /** Limits the number of large bodies that are answered at the same time. */
  gates: Pick<TenantGates, 'batches' | 'bodies'>
  streams: EventStreams
  /** Whether the fast path is used. */
  isFast: boolean
}

/**
 * Responds to a POST whose Content-Length is within the limit. Node never reads more than Content-Length.
 * @param leave called at the end of the operation, or when the client disconnects before. While the fast path executes
 * an operation, a disconnection does not stop it; `leave` is then called at the end of the execution.
 */
export function answerPost(
  { yoga, documents, mask, gates, streams, isFast }: PostServices,
  identity: Identity,
  request: IncomingMessage,
  response: ServerResponse,
  leave: () => void,
): void {
  const { viewer } = identity
  let isExecuting = false
  response.once('close', () => {
    if (!isExecuting) leave()
  })
  const type = isFast ? mediaTypeOf(request) : undefined
  const mayStream = asksForStream(request.headers.accept)
  const length = Number(request.headers['content-length'])
  const isLarge = length >= LARGE_BODY_BYTES
  if (length === 0 && !mayStream) return void yoga(request, response, { viewer })
  let body: Buffer = Buffer.alloc(0)

  /** Passes the request to yoga, with the body in `body`, because the stream was already read. */
  const passToYoga = async (context: WithResult & WithBody) =>
    void (await yoga(Object.assign(request, { body: Readable.from([body]) }), response, { viewer, ...context }))

  const answer = async (): Promise<void> => {
    if (response.destroyed) return
    if (mayStream && (await streams.answer(identity, request, response, body, leave))) return
    if (!type) return passToYoga({})
    let parsedBody: unknown
    try {
      parsedBody = await (length < BATCH_BODY_BYTES ? JSON.parse(String(body)) : parseInSteps(String(body)))
    } catch {
      // The JSON is invalid: yoga reports the error.
    }
    if (!isObject(parsedBody)) return passToYoga({})
    const execute = prepare({ yoga, documents }, viewer, response, parsedBody)
    if (!execute) return passToYoga({ parsedBody })
    let result: ExecutionResult
    let bytes = 0
    isExecuting = true
    try {
      ;({ result, bytes } = await execute())
    } catch (error) {
      result = { errors: [mask(error)] }
    }
    leave()
    if (!result.data || result.errors || result.extensions) return passToYoga({ result })
    return sendResult(response, type, result, bytes)
  }
  function fail(error: unknown): void {
    const { message, extensions } = mask(error)
    const code = String(extensions.code)
    const isBusy = error instanceof ServerBusy
    refuse(response, { status: isBusy ? 503 : 500, code, message, ...(isBusy && { retryAfter: 1 }) })
  }

  readBody(request, length, (whole) => {
    body = whole
    if (!isLarge) return void answer().catch(fail)
    const gate = length < BATCH_BODY_BYTES ? gates.bodies : gates.batches
    gate.run(viewer.tenant, answer).catch(fail)
  })
}
