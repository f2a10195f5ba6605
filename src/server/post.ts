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
import { ServerBusy } from '../errors.ts'
import { parseBody, passGate, readBody, type BodyGates } from './body.ts'
import { executeDocument } from './execute.ts'
import type { WithResult, KnownDocuments } from './known-documents.ts'
import type { WithBody } from './parsed-body.ts'
import { refuse } from './refuse.ts'
import { sendJson } from './send-json.ts'
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
  return () => executeDocument(yoga, viewer, response, document, { query, variables, operationName, extensions })
}

export type PostServices = {
  yoga: Yoga
  documents: KnownDocuments
  mask(error: unknown): GraphQLError
  gates: BodyGates
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
      parsedBody = await parseBody(body)
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
    return sendJson(response, 200, { 'content-type': type }, result, bytes)
  }
  function fail(error: unknown): void {
    const { message, extensions } = mask(error)
    const code = String(extensions.code)
    const isBusy = error instanceof ServerBusy
    refuse(response, { status: isBusy ? 503 : 500, code, message, ...(isBusy && { retryAfter: 1 }) })
  }

  readBody(request, length, (whole) => {
    body = whole
    passGate(gates, viewer, length, answer).catch(fail)
  })
}
