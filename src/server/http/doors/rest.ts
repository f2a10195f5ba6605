// The door of the REST API (src/faces/rest): reads the request, executes the document of its verb with the limits of the
// GraphQL API, and sends the response or an event stream. http.ts loads this file when the first request arrives.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerOf, isSubscription, type Execute } from '../../../faces/call.ts'
import { openApiDocument } from '../../../faces/rest/openapi.ts'
import { API } from '../../../faces/paths.ts'
import { problemOf } from '../../../faces/rest/problem.ts'
import {
  bodyOf,
  failureResponse,
  noMatchResponse,
  problemResponse,
  respond,
  subscriptionVariables,
  type RestRequest,
  type RestResponse,
} from '../../../faces/rest/respond.ts'
import { matchRoute, type Match } from '../../../faces/rest/route.ts'
import { VERBS } from '../../../faces/verbs.ts'
import type { Identity } from '../../auth/authenticator.ts'
import { ACTOR, TENANT } from '../../auth/names.ts'
import { parseBody } from '../body.ts'
import type { Door } from './door.ts'
import { isCompleted, lastSeqOf, WRONG_EVENT_ID, type EventStreams } from '../../live/event-stream.ts'
import { executeDocument } from '../../graphql/execute.ts'
import { restForgeryRefusal } from '../guard.ts'
import { asksForStream, jsonBodyRefusal } from '../media-types.ts'
import { isIterable } from '../../live/operation.ts'
import { sendJson } from '../send-json.ts'
import { VALUE_STREAM } from '../../live/stream-format.ts'
import { searchOf } from '../parameters.ts'
import type { Yoga } from '../../graphql/yoga.ts'
import type { Deps } from '../../../domain/deps.ts'
import { createFiles, isFilePath } from './files.ts'

type Services = { deps: Deps; yoga: Yoga; streams: EventStreams }

/** @param bytes approximate size of the body's JSON */
async function send(response: ServerResponse, { status, headers, body }: RestResponse, bytes: number): Promise<void> {
  if (response.destroyed) return
  await sendJson(response, { status, headers }, body, bytes)
}

const hasBody = ({ headers }: IncomingMessage) =>
  Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined

/** Returns the query of the URL. Names in the URL of an event stream are not inputs; see namesOfRequest. */
function queryOf({ url, headers }: IncomingMessage): URLSearchParams {
  const query = searchOf(url)
  if (asksForStream(headers.accept)) for (const name of [ACTOR, TENANT]) query.delete(name)
  return query
}

/** Answers a request for a query or mutation. */
async function call(
  { yoga }: Services,
  { viewer }: Identity,
  rest: RestRequest,
  response: ServerResponse,
): Promise<{ restResponse: RestResponse; bytes: number }> {
  let bytes = 0
  const execute: Execute = async (document, query, variables) => {
    const executed = await executeDocument(yoga, viewer, { document, params: { query, variables }, response })
    bytes = executed.bytes
    return executed.result
  }
  const restResponse = await respond(rest, execute)
  return { restResponse, bytes }
}

/** Answers a request for a subscription with an event stream, or a problem. */
async function follow(
  { streams }: Services,
  identity: Identity,
  rest: RestRequest,
  response: ServerResponse,
): Promise<void> {
  const { match, headers } = rest
  if (isCompleted(response.req)) return void response.writeHead(204).end()
  const resumeAfter = lastSeqOf(headers)
  if (resumeAfter === undefined) {
    return send(response, problemResponse(problemOf(400, 'BAD_REQUEST', WRONG_EVENT_ID)), 0)
  }
  try {
    const params = { query: VERBS[match.verb].document, variables: subscriptionVariables(rest) }
    const stream = streams.prepare(identity, response, { params, resumeAfter }, VALUE_STREAM)
    const outcome = await stream.run()
    if (isIterable(outcome)) stream.send(outcome)
    // The result has an error, because it is not iterable.
    else answerOf(match.verb, {}, outcome)
  } catch (error) {
    await send(response, failureResponse(error, headers), 0)
  }
}

export type Rest = {
  /**
   * Returns the door of the request's verb. Answers the request, and returns null, if it is for the OpenAPI document or a
   * file with a signed URL, or if no verb has its path and method.
   */
  enter(request: IncomingMessage, response: ServerResponse, path: string): Promise<Door | null>
}

export function createRest(services: Services): Rest {
  let description: object | undefined
  const files = createFiles(services.deps)

  const doorOf = (match: Match, path: string): Door => ({
    refusalOf: ({ method, headers }) => jsonBodyRefusal(headers) ?? restForgeryRefusal(method, headers),
    hasBody,
    async answer({ request, response, identity, body, leave }) {
      let isExecuting = false
      response.once('close', () => {
        if (!isExecuting) leave()
      })
      const { headers } = request
      let parsed: unknown
      try {
        parsed = await bodyOf(body ?? Buffer.alloc(0), parseBody)
      } catch (error) {
        return send(response, failureResponse(error, headers), 0)
      }
      const rest: RestRequest = { match, path, query: queryOf(request), headers, body: parsed }
      if (isSubscription(match.verb)) return follow(services, identity, rest, response).finally(leave)
      isExecuting = true
      const { restResponse, bytes } = await call(services, identity, rest, response).finally(leave)
      await send(response, restResponse, bytes)
    },
  })

  return {
    async enter(request, response, path) {
      if (path === `${API}/openapi.json` && request.method === 'GET') {
        description ??= openApiDocument()
        const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' }
        await send(response, { status: 200, headers, body: description }, 0)
        return null
      }
      if (isFilePath(path)) return files.enter(request, response, path)
      const match = matchRoute(request.method, path)
      if ('verb' in match) return doorOf(match, path)
      // The body of the request is not read.
      response.shouldKeepAlive &&= !hasBody(request)
      await send(response, noMatchResponse(path, match), 0)
      return null
    },
  }
}
