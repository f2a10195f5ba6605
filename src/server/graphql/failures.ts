// Sets the code of each failure of a request and, over HTTP, the status: 4xx for mistakes of the client. The exception
// is an invalid document from a client that accepts only application/json: the GraphQL over HTTP specification requires
// 200. An event stream is refused before it starts if the request is malformed, exceeds a limit or names an actor whom
// the tenant does not know; any other failure is an event in the stream (event-stream.ts).

import { getOperationAST, GraphQLError, Kind, type DocumentNode, type ExecutionResult } from 'graphql'
import { isAsyncIterable, type GraphQLParams, type Plugin } from 'graphql-yoga'
import type { InputIssue } from '../../errors.ts'

/** Status of a response without data, by the code of its first error. Yoga selects the status for other codes. */
const STATUS: Record<string, number> = {
  BAD_REQUEST: 400,
  INVALID_INPUT: 400,
  OPERATION_RESOLUTION_FAILURE: 400,
  MIXED_VIEWS: 400,
  UNKNOWN_ACTOR: 400,
  QUERY_TOO_COSTLY: 400,
  QUERY_TIMEOUT: 400,
  NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  LIMIT_REACHED: 429,
  RATE_LIMITED: 429,
  INTERNAL_SERVER_ERROR: 500,
  UNAVAILABLE: 503,
}
/** Codes of the errors that refuse an event stream before it starts. Other errors become events in the stream. */
const BEFORE_STREAM = new Set([
  'BAD_REQUEST',
  'LIMIT_REACHED',
  'MIXED_VIEWS',
  'QUERY_TOO_COSTLY',
  'RATE_LIMITED',
  'UNKNOWN_ACTOR',
])

/** Codes of errors after which the same operation may succeed later. */
const TRY_LATER = new Set(['SERVER_BUSY', 'UNAVAILABLE'])

type Http = { status?: number; headers?: Record<string, string> }
/** The status and headers of a response that refuses an event stream. */
export type StreamRefusal = Required<Http>
const httpOf = ({ extensions: { http } }: GraphQLError): Http | undefined => http
const codeOf = ({ extensions }: GraphQLError) => String(extensions.code)

/** Returns the error as clients receive it, without the extension `http`, which is for yoga. */
export function withoutHttp(error: GraphQLError): GraphQLError {
  if (!error.extensions.http) return error
  const { http: _, ...extensions } = error.extensions
  const { message, nodes, source, positions, path, originalError } = error
  return new GraphQLError(message, { nodes, source, positions, path, originalError, extensions })
}

/** Returns the result as clients receive it. */
export const resultWithoutHttp = ({ errors, ...rest }: ExecutionResult): ExecutionResult =>
  errors ? { ...rest, errors: errors.map(withoutHttp) } : rest

/** Returns the status and headers with which the error refuses an event stream; null if it becomes an event instead. */
export function refusalOfStream(error: GraphQLError): StreamRefusal | null {
  if (!BEFORE_STREAM.has(codeOf(error))) return null
  const { status = STATUS[codeOf(error)] ?? 400, headers = {} } = httpOf(error) ?? {}
  return { status, headers }
}

/**
 * Returns the status 503 and the header Retry-After for a result without any value because of errors in TRY_LATER; null
 * for other results. HTTP clients and proxies recognise an outage by the status.
 */
export function tryLaterOf({ data, errors }: ExecutionResult): StreamRefusal | null {
  if (!errors?.length || !errors.every((error) => TRY_LATER.has(codeOf(error)))) return null
  if (data && Object.values(data).some((value) => value !== null)) return null
  const seconds = Math.max(...errors.map(({ extensions }) => Number(extensions.retryAfterSeconds ?? 1)))
  return { status: 503, headers: { 'retry-after': String(seconds) } }
}

/** Returns the path to the invalid value, from graphql-js's message: `Variable "$input" got … at "input.turns[0]"`. */
function pathIn({ message, nodes }: GraphQLError): string[] {
  const [, path] = / at "([\w.[\]]+)";/.exec(message) ?? []
  if (path) return path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  const [node] = nodes ?? []
  return node?.kind === Kind.VARIABLE_DEFINITION ? [node.variable.name.value] : []
}

/** Sets the code INVALID_INPUT and the issues, if the error has no code or the executor's code BAD_USER_INPUT. */
export function withCode(error: GraphQLError): GraphQLError {
  if (error.extensions.code && error.extensions.code !== 'BAD_USER_INPUT') return error
  const issues: InputIssue[] = [{ path: pathIn(error), message: error.message }]
  return Object.assign(error, { extensions: { ...error.extensions, code: 'INVALID_INPUT', issues } })
}

/** Returns the error of a request whose document does not have exactly one matching operation. */
function unresolved(document: DocumentNode, name: string | null | undefined): GraphQLError {
  const count = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length
  const message = name
    ? `The document has no operation named ${JSON.stringify(name)}: check operationName.`
    : `The document has ${count} operations: select one by operationName.`
  return new GraphQLError(message, { extensions: { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } } })
}

const badRequest = (message: string) =>
  new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } })

const notAcceptable = () =>
  new GraphQLError('A subscription is answered with events: send "Accept: text/event-stream", or use a WebSocket.', {
    extensions: { code: 'NOT_ACCEPTABLE', http: { status: 406 } },
  })

/** The yoga plugin that sets codes and statuses. */
export const useFailures = (): Plugin<{ params?: GraphQLParams; request?: Request }> => ({
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return
    setRequestParser(async (request) => {
      try {
        return await requestParser(request)
      } catch (error) {
        if ((error as Error).name !== 'SyntaxError') throw error
        throw badRequest('The parameters "variables" and "extensions" must be JSON.')
      }
    })
  },
  onParse:
    ({ context: { params } }) =>
    ({ result }) => {
      if (result instanceof GraphQLError) result.extensions.code ??= 'GRAPHQL_PARSE_FAILED'
      if (!params || !result || result instanceof Error) return
      if (!getOperationAST(result as DocumentNode, params.operationName)) {
        throw unresolved(result as DocumentNode, params.operationName)
      }
    },
  onSubscribe({ args, setResultAndStopExecution }) {
    // Only a request that yoga answers has a `request`. Yoga must not start a subscription: event-stream.ts does.
    const { request } = args.contextValue as { request?: Request }
    if (request) setResultAndStopExecution({ errors: [notAcceptable()] })
  },
  onResultProcess({ result, setResult }) {
    if (isAsyncIterable(result) || Array.isArray(result)) return
    const tryLater = tryLaterOf(result as ExecutionResult)
    if (tryLater) return setResult({ ...result, extensions: { http: tryLater } })
    const { errors = [], ...rest } = result as ExecutionResult
    const [first] = errors
    if (!first || 'data' in rest) return
    const status = httpOf(first)?.status ?? STATUS[codeOf(first)]
    if (codeOf(first) in STATUS) setResult({ ...result, extensions: { http: { ...httpOf(first), status } } })
  },
})
