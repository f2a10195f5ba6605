// Refuses requests before an operation is executed, with an error in the format of GraphQL responses; for the REST API
// and AG-UI, with a problem (RFC 9457), and for the MCP server, with an error of JSON-RPC.

import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { counters, refused } from '../../runtime/counters.ts'
import { ServerBusy, type InputIssue } from '../../errors.ts'
import { AGUI, API, GRAPHQL, MCP, protocolAt, type Protocol } from '../../faces/paths.ts'
import { PROBLEM_TYPE, problemOf } from '../../faces/rest/problem.ts'
import { targetOf } from './parameters.ts'

export type Refusal = {
  status: number
  /** Stable machine-readable code. */
  code: string
  message: string
  /** Seconds after which the client may try again. */
  retryAfter?: number
  /** Accepted methods, for status 405. */
  allow?: string
  /** Accepted content encodings of the body, for status 415 because of Content-Encoding. */
  acceptEncoding?: string
  /** The header WWW-Authenticate, for status 401. */
  challenge?: string
  /** The problems with the name of a tenant or an actor, for the code INVALID_INPUT. */
  issues?: InputIssue[]
}

export const UNKNOWN_PATH: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  message: `Unknown path. GraphQL is at ${GRAPHQL}, the REST API at ${API}, the MCP server at ${MCP}, and AG-UI at ${AGUI}.`,
}
/** A temporary refusal without its message, which the caller adds. */
export const BUSY = { status: 503, code: 'SERVER_BUSY', retryAfter: 1 }
/** The refusal of a request because of an unexpected error, without its message. */
const DEFECT = { status: 500, code: 'INTERNAL_SERVER_ERROR' }
/** Refuses an operation that has not started, because the process is overloaded. */
export const OVERLOADED: Refusal = {
  ...BUSY,
  message: `The server is overloaded, and the operation was not started. Try again after ${BUSY.retryAfter} s.`,
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Returns the protocol in whose format the request is refused: GraphQL for a path without a protocol. */
const formatOf = ({ req }: ServerResponse): Protocol => protocolAt(targetOf(req.url)?.path ?? '') ?? 'graphql'

/** Whether errors of the protocol are problem details. */
const isProblem = (format: Protocol): boolean => format === 'rest' || format === 'agui'

/** Codes of JSON-RPC: of a session that does not exist, as in the SDK of MCP, and of other refusals. */
const RPC_CODES = { session: -32001, other: -32000 }

/** Returns the refusal in that format. */
function errorOf({ status, code, message, issues, retryAfter: retryAfterSeconds }: Refusal, format: Protocol): object {
  const details = { code, issues, retryAfterSeconds }
  if (isProblem(format)) return problemOf(status, code, message, { issues, retryAfterSeconds })
  if (format === 'graphql') return { errors: [{ message, extensions: details }] }
  const rpcCode = status === 404 ? RPC_CODES.session : RPC_CODES.other
  return { jsonrpc: '2.0', id: null, error: { code: rpcCode, message, data: details } }
}

/** Returns the body of a refusal, and its headers. */
function contentOf(refusal: Refusal, format: Protocol) {
  const { retryAfter } = refusal
  const body = JSON.stringify(errorOf(refusal, format))
  const headers = {
    'content-type': isProblem(format) ? PROBLEM_TYPE : JSON_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  }
  return { body, headers }
}

/**
 * Counts the refusal. Returns the body, and headers that close the connection, because the request's body may be
 * unread.
 */
function responseOf(refusal: Refusal, format: Protocol) {
  const { code, allow, acceptEncoding, challenge } = refusal
  refused(code)
  const { body, headers } = contentOf(refusal, format)
  const more = {
    connection: 'close',
    ...(allow === undefined ? {} : { allow }),
    ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }),
    ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
  }
  return { body, headers: { ...headers, ...more } }
}

/** Maximum size of an unread body, in bytes, that is discarded to keep the connection open. */
const DROPPED_BODY_BYTES = 64 * 1024
/** The responses of `refuseOverloaded`, prepared because an overloaded process sends many. */
const OVERLOADED_RESPONSES = {
  graphql: contentOf(OVERLOADED, 'graphql'),
  rest: contentOf(OVERLOADED, 'rest'),
  mcp: contentOf(OVERLOADED, 'mcp'),
  agui: contentOf(OVERLOADED, 'agui'),
}

/**
 * Refuses with OVERLOADED. The connection stays open if the body is small: connecting again would cost both sides more
 * than the refusal.
 */
export function refuseOverloaded(response: ServerResponse): void {
  refused(OVERLOADED.code)
  counters.shed.http += 1
  if (!(Number(response.req.headers['content-length'] ?? 0) <= DROPPED_BODY_BYTES)) response.shouldKeepAlive = false
  const { body, headers } = OVERLOADED_RESPONSES[formatOf(response)]
  response.writeHead(OVERLOADED.status, headers).end(body)
}

export function refuse(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const { body, headers } = responseOf(refusal, formatOf(response))
  response.writeHead(refusal.status, headers).end(body)
}

/** Returns a function that answers a request whose handling failed. @param mask hides unexpected errors, and logs them */
export const failWith =
  (mask: (error: unknown) => { message: string }) =>
  (response: ServerResponse) =>
  (error: unknown): void => {
    const { message } = mask(error)
    refuse(response, { ...(error instanceof ServerBusy ? BUSY : DEFECT), message })
  }

/** Refuses an upgrade to a WebSocket, for which Node creates no response. */
export function refuseUpgrade(socket: Duplex, refusal: Refusal): void {
  const { body, headers } = responseOf(refusal, 'graphql')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`)
}
