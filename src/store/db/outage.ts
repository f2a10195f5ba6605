// Recognises the errors of an outage of the database: it refuses or loses connections, starts, stops, or has no
// resources left. The same call may succeed later. This is the only file that knows the codes and messages of these
// errors, from Postgres, pg, pg-pool, Node's sockets, and Prisma with its driver adapter.

import { DatabaseUnavailable } from '../../errors.ts'

/**
 * Codes of Postgres (https://www.postgresql.org/docs/17/errcodes-appendix.html): the classes "connection exception" and
 * "insufficient resources", which includes too many connections; and a server that shuts down, has crashed or starts,
 * or that ended an idle session.
 */
const SQLSTATE = /^(?:08|53)[0-9A-Z]{3}$|^57P0[1235]$|^25P0[34]$/
/** Codes of Node for sockets and name look-ups. */
const SOCKET = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTCONN',
  'ENOTFOUND',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ETIMEDOUT',
])
/**
 * Codes of Prisma (https://www.prisma.io/docs/orm/reference/error-reference): no connection, a lost one, too many, none
 * free in time, and a transaction that did not start or end in time and was rolled back.
 */
const PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037'])
/** Kinds of errors of Prisma's driver adapter. */
const KINDS = new Set(['ConnectionClosed', 'DatabaseNotReachable', 'SocketTimeout', 'TooManyConnections'])
/** Errors of pg and pg-pool without a code. Prisma puts some of them on the last line of a message of its own. */
const MESSAGE = new RegExp(
  `(?:^|\\n)(?:${[
    'Connection terminated(?: unexpectedly| due to connection timeout)?',
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Cannot use a pool after calling end on the pool',
    'There was an error establishing an SSL connection',
  ].join('|')})$`,
)
/** Maximum number of errors in a chain of causes. */
const MAX_CAUSES = 6

type Details = Partial<{
  code: unknown
  errorCode: unknown
  originalCode: unknown
  kind: unknown
  syscall: unknown
  message: unknown
  cause: unknown
  errors: unknown
  meta: { driverAdapterError?: unknown }
}>

function isOutageItself({ code, errorCode, originalCode, kind, syscall, message }: Details): boolean {
  for (const each of [code, errorCode, originalCode]) {
    if (typeof each === 'string' && (SQLSTATE.test(each) || SOCKET.has(each) || PRISMA.has(each))) return true
  }
  // The Unix socket of a server that is not running.
  if (code === 'ENOENT' && syscall === 'connect') return true
  if (typeof kind === 'string' && KINDS.has(kind)) return true
  return code === undefined && typeof message === 'string' && MESSAGE.test(message)
}

/** Whether an outage of the database caused the error. */
function isOutage(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > MAX_CAUSES) return false
  const details = error as Details
  if (isOutageItself(details)) return true
  const { cause, errors, meta } = details
  const inner = [cause, meta?.driverAdapterError, ...(Array.isArray(errors) ? errors : [])]
  return inner.some((each) => isOutage(each, depth + 1))
}

/** Returns the error that callers of the store get: DatabaseUnavailable for an outage, or else the same error. */
export const unavailableOr = (error: unknown): unknown =>
  !(error instanceof DatabaseUnavailable) && isOutage(error) ? new DatabaseUnavailable({ cause: error }) : error

/** Minimum time between two log lines about failures, ms. */
const LOG_MS = 10_000

type Log = Record<'info' | 'warn', (details: object, message: string) => void>
type Watched = {
  onOutage(listener: (error: unknown) => void): void
  on(event: 'connect', listener: () => void): unknown
}

/** Logs outages that the pools report: the first failure, one failure every LOG_MS, and the next connection. */
export function logOutages(pools: Iterable<Watched>, log: Log): void {
  let loggedAt: number | null = null
  for (const pool of pools) {
    pool.onOutage((err) => {
      const now = performance.now()
      if (loggedAt !== null && now - loggedAt < LOG_MS) return
      loggedAt = now
      log.warn({ err }, 'the database is unavailable; operations fail with SERVER_BUSY')
    })
    pool.on('connect', () => {
      if (loggedAt !== null) log.info({}, 'connected to the database again')
      loggedAt = null
    })
  }
}
