// The errors of the REST API: problem details (RFC 9457) with the codes of the GraphQL API. Pure.

import { STATUS_CODES } from 'node:http'
import type { VerbFailed } from '../call.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** The HTTP status of each code of an executed verb. Other codes have the status 400. */
export const STATUS: Readonly<Record<string, number>> = {
  NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  LIMIT_REACHED: 409,
  STREAM_CLOSED: 409,
  BUDGET_TOO_SMALL: 422,
  QUOTA_EXCEEDED: 429,
  RATE_LIMITED: 429,
  INTERNAL_SERVER_ERROR: 500,
  PROVIDER_FAILED: 502,
  SERVER_BUSY: 503,
  UNAVAILABLE: 503,
  READ_TIMEOUT: 503,
}

/** Problem details. `type` is absent, so that it is about:blank and `title` is the name of the status. */
export type Problem = { status: number; title: string; detail: string; code: string; [extension: string]: unknown }

export const problemOf = (
  status: number,
  code: string,
  detail: string,
  extensions: Readonly<Record<string, unknown>> = {},
): Problem => ({ ...extensions, title: STATUS_CODES[status]!, status, detail, code })

/**
 * Returns the problem of a failed verb.
 * @param isConditional whether the request had the header If-Match, so that a conflict is a failed precondition
 */
export function problemOfFailure({ code, message, issues, details }: VerbFailed, isConditional = false): Problem {
  const status = code === 'CONFLICT' && isConditional ? 412 : (STATUS[code] ?? 400)
  // The state of a turn, for the code STREAM_CLOSED. A problem's `status` is that of the response.
  const { status: turnStatus, ...others } = details
  return problemOf(status, code, message, { ...others, ...(issues.length > 0 && { issues }), turnStatus })
}
