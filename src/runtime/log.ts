// The log of a process: JSON lines on stdout, without credentials and without content of conversations.

import { pino, type Logger, type LoggerOptions } from 'pino'

/** Masks each `user:password@` of a URL in the text, and each password in a URL's query. Keeps `user@`. */
export const maskCredentials = (text: string): string =>
  text
    .replaceAll(/\b([a-z][a-z\d+.-]*:\/\/)[^\s"'`<>/@]*:[^\s"'`<>]*@/gi, '$1***@')
    .replaceAll(/([?&](?:password|sslpassword)=)[^\s"'`<>&]*/gi, '$1***')

/** Properties of errors that are logged: codes, and names that the server or the database defines. */
const SAFE = new Set([
  'code',
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
  'syscall',
  'address',
  'port',
  'status',
])
/** Errors of JavaScript itself. Their messages may contain unquoted values, so they are not logged. */
const NATIVE = [TypeError, SyntaxError, RangeError, ReferenceError, EvalError, URIError]
/** Maximum length of a logged message, in UTF-16 units. */
const MESSAGE_UNITS = 500
/** Maximum depth of logged causes. */
const MAX_CAUSES = 4

/**
 * Removes the part of a message that may quote content: everything from the first to the last quotation mark. Postgres,
 * JSON.parse and Prisma quote the values that they reject.
 */
const withoutQuotes = (message: string): string =>
  message.replace(/["'`“‘«][^]*["'`”’»]/, '"…"').slice(0, MESSAGE_UNITS)

/**
 * Returns the part of an error that is logged: its type, its message without quotations, the properties SAFE, the
 * frames of its stack, and its causes. Other properties may contain content, for example Postgres's `detail`, which
 * quotes rows.
 */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack = '', cause, errors } = error as Error & { errors?: unknown }
  const safe = Object.entries(error).filter(
    ([key, value]) => SAFE.has(key) && (typeof value === 'number' || typeof value === 'string'),
  )
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line))
  const causes = depth < MAX_CAUSES
  return {
    type: error.constructor.name === 'Error' ? name : error.constructor.name,
    ...(!NATIVE.some((type) => error instanceof type) && { message: withoutQuotes(message) }),
    ...Object.fromEntries(safe),
    stack: frames.join('\n'),
    ...(causes && cause !== undefined && { cause: describeError(cause, depth + 1) }),
    ...(causes && Array.isArray(errors) && { errors: errors.map((each) => describeError(each, depth + 1)) }),
  }
}

export const createLog = (level: LoggerOptions['level']): Logger =>
  pino({
    level,
    hooks: { streamWrite: maskCredentials },
    serializers: { err: (error: unknown) => describeError(error) },
  })

/** Returns the message of a network error. Node reports one error for each address of a host. */
export function reasonOf(error: Error & { errors?: readonly Error[]; code?: string }): string {
  const texts = (error.errors ?? [error]).map(({ message }) => message).filter(Boolean)
  return texts.join('; ') || error.code || error.name
}
