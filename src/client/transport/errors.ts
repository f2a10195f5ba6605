// The error of the client: the codes of the server, and those of failures that the client itself detects.

/** Codes of failures after which the same call may succeed. */
const RETRYABLE = new Set([
  'NETWORK',
  'TIMEOUT',
  'UNAVAILABLE',
  'SERVER_BUSY',
  'RATE_LIMITED',
  'READ_TIMEOUT',
  'QUERY_TIMEOUT',
  'BODY_TIMEOUT',
  'TOO_MANY_OPERATIONS',
  'INTERNAL_SERVER_ERROR',
])

/** One problem with an input. */
export type Issue = { message: string; path: string[] }

/**
 * A failed call. `code` is a code of the server (`NOT_FOUND`, `CONFLICT`, …) or of the client: `NETWORK` for a lost
 * connection, `TIMEOUT` for an answer that did not arrive in time, `BAD_URL` for an unusable URL, `BAD_RESPONSE` for an
 * answer that is not GraphQL, `SOURCE_FAILED` for a stream of a model that ended with an error, and `NEVER_WOKEN` for
 * conversations whose turns `answer` cannot receive.
 */
export class ColloquyError extends Error {
  override readonly name = 'ColloquyError'
  readonly code: string
  /** The problems of the input, if `code` is `INVALID_INPUT`; otherwise empty. */
  readonly issues: readonly Issue[]
  /** The state of the turn, if `code` is `STREAM_CLOSED`; otherwise null. */
  readonly status: string | null

  constructor(
    code: string,
    message: string,
    { issues = [], status = null, cause }: { issues?: readonly Issue[]; status?: string | null; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.code = code
    this.issues = issues
    this.status = status
  }

  /** Whether the same call may succeed later. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.code)
  }
}

/** Returns the message of the first cause, such as `connect ECONNREFUSED`; Node's fetch says only `fetch failed`. */
const reasonOf = ({ cause, message, code }: Error & { code?: string }): string =>
  cause instanceof Error ? reasonOf(cause) : message || code || ''

/** The error of a connection that was lost. */
export const networkError = (cause?: unknown): ColloquyError =>
  new ColloquyError(
    'NETWORK',
    `The connection to the server failed${cause instanceof Error ? `: ${reasonOf(cause)}` : '.'}`,
    { cause },
  )

export type GraphQLErrors = readonly { message: string; extensions?: { code?: string; issues?: Issue[] } }[]

/** The error of a result whose `errors` are not empty. */
export function errorOfResult(errors: GraphQLErrors): ColloquyError {
  const [first] = errors
  return new ColloquyError(first?.extensions?.code ?? 'BAD_RESPONSE', first?.message ?? 'The server sent no data.', {
    issues: first?.extensions?.issues ?? [],
  })
}

type UserError = { code?: string; message?: string; issues?: Issue[]; status?: string }

/** Returns the payload of a mutation. @throws ColloquyError if the result is an error of the mutation's union */
export function payloadOf<T>(result: T & UserError): T {
  if (result.code === undefined) return result
  throw new ColloquyError(result.code, result.message ?? result.code, {
    issues: result.issues ?? [],
    status: result.status ?? null,
  })
}
