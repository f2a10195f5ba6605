// Answers requests to the REST API, apart from their transport: finds the verb, calls it, and returns the status, the
// headers and the body of the response. Every failure becomes a problem.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { callVerb, invalidInput, variablesOf, VerbFailed, type Execute } from '../call.ts'
import { VERBS, type Verb } from '../verbs.ts'
import { inputOf } from './input.ts'
import { linkOf } from './links.ts'
import { PROBLEM_TYPE, problemOf, problemOfFailure, type Problem } from './problem.ts'
import { API } from '../paths.ts'
import type { Match, NoMatch } from './route.ts'

/** A request for a verb. `body` is the parsed body; undefined if there is none. */
export type RestRequest = {
  match: Match
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: unknown
}

export type RestResponse = { status: number; headers: OutgoingHttpHeaders; body: object }

const HEADERS = { 'cache-control': 'no-store' }

/** Returns the response with that problem. */
export function problemResponse(problem: Problem): RestResponse {
  const { retryAfterSeconds } = problem
  const headers = {
    ...HEADERS,
    'content-type': PROBLEM_TYPE,
    ...(typeof retryAfterSeconds === 'number' && { 'retry-after': String(retryAfterSeconds) }),
  }
  return { status: problem.status, headers, body: problem }
}

const isConditional = (headers: IncomingHttpHeaders) => headers['if-match'] !== undefined

/** Returns the response to a failed verb. @throws the error if it is not a VerbFailed */
export function failureResponse(error: unknown, headers: IncomingHttpHeaders): RestResponse {
  if (!(error instanceof VerbFailed)) throw error
  return problemResponse(problemOfFailure(error, isConditional(headers)))
}

/** Returns the response to a request whose path or method no verb has. */
export function noMatchResponse(path: string, noMatch: NoMatch): RestResponse {
  if (noMatch.problem === 'method') {
    const allow = noMatch.allowed.join(', ')
    const { headers, ...rest } = problemResponse(
      problemOf(405, 'METHOD_NOT_ALLOWED', `This path accepts ${allow}.`, { allowed: noMatch.allowed }),
    )
    return { ...rest, headers: { ...headers, allow } }
  }
  if (noMatch.problem === 'encoding') {
    const detail = `${JSON.stringify(noMatch.segment)} in the path is not percent-encoded UTF-8.`
    return problemResponse(problemOf(400, 'BAD_REQUEST', detail))
  }
  const hint = noMatch.similar ? `Did you mean ${noMatch.similar}?` : `${API}/openapi.json lists all paths.`
  return problemResponse(problemOf(404, 'NOT_FOUND', `There is no path ${path}. ${hint}`))
}

/** Returns the ETag of an answer with a version; undefined for others. */
function etagOf({ version }: Verb, answer: object): string | undefined {
  if (!version) return undefined
  let value: any = answer
  for (const key of version) value = value[key]
  return `"${value}"`
}

/** Calls a query or mutation, and returns the response. @throws unexpected errors of `execute` */
export async function respond(request: RestRequest, execute: Execute): Promise<RestResponse> {
  const { match, path, query, headers, body } = request
  try {
    const answer = await callVerb(match.verb, inputOf(match, query, body, headers), execute)
    const [link, etag] = [linkOf(path, query, answer), etagOf(VERBS[match.verb], answer)]
    return {
      status: 200,
      headers: {
        ...HEADERS,
        'content-type': 'application/json; charset=utf-8',
        ...(link !== undefined && { link }),
        ...(etag !== undefined && { etag }),
      },
      body: answer,
    }
  } catch (error) {
    return failureResponse(error, headers)
  }
}

/** Returns the variables of a subscription. @throws VerbFailed */
export const subscriptionVariables = ({ match, query, headers, body }: RestRequest): Record<string, unknown> =>
  variablesOf(match.verb, inputOf(match, query, body, headers))

/** Returns the parsed JSON of a body; undefined for an empty one. @throws VerbFailed */
export async function bodyOf(body: Buffer, parse: (body: Buffer) => Promise<unknown>): Promise<unknown> {
  if (body.length === 0) return undefined
  try {
    return await parse(body)
  } catch {
    throw invalidInput([], 'The body is not JSON.')
  }
}
