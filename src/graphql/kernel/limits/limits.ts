// The limits of one GraphQL operation, and the errors of operations that exceed them. The same limits apply to every
// transport: HTTP (including the fast path of POST), WebSocket and event streams. In a subscription, they apply to each
// event.

import { GraphQLError } from 'graphql'
import type { QueueFull } from '../../../errors.ts'

export type OperationLimits = {
  /** Maximum number of tokens of a document. */
  tokens: number
  /** Maximum number of nested levels of fields. */
  depth: number
  /** Maximum number of fields that a document selects; a field of a fragment counts each time the fragment is used. */
  fields: number
  /** Maximum number of aliases in a document. */
  aliases: number
  /** Maximum number of directives in a document. */
  directives: number
  /**
   * Maximum number of repeats in a document: fields with the response name of an earlier field of their selection set,
   * and spreads of a fragment that was already spread there.
   */
  repeats: number
  /** Maximum number of values (objects, list items and leaves) of one answer. */
  values: number
  /**
   * Maximum size of the data that one operation reads, and of its answer, in bytes. A UTF-16 unit of a text counts as
   * one byte.
   */
  answerBytes: number
  /** Maximum time of a query, or of rendering one event of a conversation, ms. Mutations have no time limit. */
  timeMs: number
  /** Whether documents may query the schema, and errors may suggest names of the schema. */
  introspection: boolean
}

/** The limits on counts, each with the name of the counted items for the error text. */
const COUNTED = {
  tokens: 'tokens in the document',
  depth: 'nested levels of fields',
  fields: 'selected fields, including those of fragments',
  aliases: 'aliases',
  directives: 'directives',
  repeats: 'repeated fields or fragments in the document',
  values: 'values in the answer',
  answerBytes: 'bytes of data, read or returned',
} as const satisfies Partial<Record<keyof OperationLimits, string>>

export type CountedLimit = keyof typeof COUNTED

/**
 * Returns the error of an operation that exceeds a limit.
 * @param actual the number that exceeds the maximum; null if counting stopped at the maximum
 * @param note a sentence to append
 */
export function tooCostly(limit: CountedLimit, maximum: number, actual: number | null, note = ''): GraphQLError {
  const number = actual === null ? `more than ${maximum}` : String(actual)
  const message = `The operation has ${number} ${COUNTED[limit]}; at most ${maximum} are allowed. Request less data.`
  return new GraphQLError(note ? `${message} ${note}` : message, {
    extensions: { code: 'QUERY_TOO_COSTLY', limit, maximum, ...(actual !== null && { actual }) },
  })
}

/** Returns the error of a query, or of the rendering of an event, that exceeded the time limit. */
export const timedOut = (timeMs: number): GraphQLError =>
  new GraphQLError(`The operation exceeded the time limit of ${timeMs / 1000} seconds. Request less data.`, {
    extensions: { code: 'QUERY_TIMEOUT', limit: 'timeMs', maximum: timeMs },
  })

/** Returns the error of an operation for whose answer there is no memory. @param note a sentence to append */
export const serverBusy = ({ code, message, retryAfterSeconds }: QueueFull, note: string): GraphQLError =>
  new GraphQLError(note ? `${message} ${note}` : message, { extensions: { code, retryAfterSeconds } })

/** Returns the error of a query whose client has disconnected. It stops the query and is never sent. */
export const clientGone = (): GraphQLError =>
  new GraphQLError('The client has disconnected.', { extensions: { code: 'CLIENT_GONE' } })

/**
 * Returns the error of a directive that occurs twice at one location. Validation would report one error for each
 * repetition, so that a small request could cause a large answer. No directive of the schema is repeatable.
 */
export const directiveRepeated = (name: string): GraphQLError =>
  new GraphQLError(`The directive "@${name}" can only be used once at this location.`, {
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  })

export const introspectionDisabled = (field: string): GraphQLError =>
  new GraphQLError(`${field} is not available: introspection is disabled on this server.`, {
    extensions: { code: 'INTROSPECTION_DISABLED' },
  })

/**
 * Returns the error of a principal with too few points left in the current minute. Over HTTP, the response has the
 * status 429 and the header Retry-After.
 */
export function rateLimited(points: number, retryAfterSeconds: number): GraphQLError {
  const message = `At most ${points} points per minute are allowed; try again in ${retryAfterSeconds} seconds.`
  const extensions = { code: 'RATE_LIMITED', limit: 'points', maximum: points, retryAfterSeconds }
  // Yoga reads the property `http`. It is not enumerable, because it must not be sent over WebSocket.
  const http = { status: 429, headers: { 'retry-after': String(retryAfterSeconds) } }
  Object.defineProperty(extensions, 'http', { value: http, enumerable: false })
  return new GraphQLError(message, { extensions })
}
