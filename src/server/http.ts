// The server: one node:http server with GraphQL by yoga at /graphql (GraphiQL, Server-Sent Events), WebSockets on the
// same path, /health and /ready.

import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { GraphQLError } from 'graphql'
import { createYoga } from 'graphql-yoga'
import type { Config } from '../config/config.ts'
import type { Deps } from '../domain/platform.ts'
import type { PresenceHolder } from '../domain/presence.ts'
import type { Viewer } from '../domain/view.ts'
import { toGraphQLError } from '../graphql/errors.ts'
import { usePlans } from '../graphql/plan.ts'
import { createRequestContext, type RequestContext } from '../graphql/request.ts'
import { schema } from '../graphql/schema.ts'
import { viewerFrom } from './auth.ts'
import { tabs } from './graphiql.ts'
import { refusal } from './guard.ts'
import { answerHealth, type Health } from './health.ts'
import { answerPost, useShortWay, type Answered, type Known } from './post.ts'
import { attachWebSockets } from './ws.ts'

/** What the WebSocket side gives to the same yoga: there the viewer comes with the connection. */
export type Connected = { viewer: Viewer; holder: PresenceHolder }

export type Server = {
  /** Resolves with the port once requests are taken. */
  listen(): Promise<number>
  /**
   * Takes no more work; lets what runs finish, closes sockets with 1001 so that clients go elsewhere. Resolves when all
   * is quiet, or after SHUTDOWN_SECONDS.
   */
  close(): Promise<void>
}

/** Logs what nobody expected, once, and hides it from clients; expected failures keep their code. */
export const maskWith =
  (deps: Deps) =>
  (error: unknown): GraphQLError => {
    const original = error instanceof GraphQLError ? error.originalError : error
    const expected = toGraphQLError(error)
    if (expected) return expected
    // Syntax, validation, coercion: the client's own doing, said by graphql itself.
    if (error instanceof GraphQLError && (!original || original instanceof GraphQLError)) return error
    deps.log.error({ err: original }, 'unexpected error')
    const { nodes, source, positions, path } = error instanceof GraphQLError ? error : ({} as Partial<GraphQLError>)
    const extensions = { code: 'INTERNAL_SERVER_ERROR' }
    return new GraphQLError('Unexpected error.', { nodes, source, positions, path, extensions })
  }

/** @param known documents that it found sound: it adds to them */
export function createYogaFor(deps: Deps, config: Config, mask: (error: unknown) => GraphQLError, known: Known) {
  return createYoga<{ req?: IncomingMessage } & Partial<Connected> & Answered, RequestContext>({
    schema,
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    cors: config.allowedOrigins.length ? { origin: [...config.allowedOrigins], credentials: false } : false,
    maskedErrors: { maskError: mask },
    // 9 MB of page, read when somebody asks for it.
    renderGraphiQL: async (options) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(options),
    graphiql: { title: 'Colloquy', subscriptionsProtocol: 'WS', defaultTabs: tabs },
    plugins: [useCSRFPrevention(), useShortWay(known), usePlans()],
    context: ({ request, viewer, holder }) =>
      createRequestContext(deps, viewer ?? viewerFrom((header) => request.headers.get(header)), holder ?? null),
  })
}

const refuse = (response: ServerResponse, status: number, message: string) => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', connection: 'close' })
  response.end(JSON.stringify({ errors: [{ message }] }))
}

export function createServer(deps: Deps, config: Config, health: Health): Server {
  const mask = maskWith(deps)
  const known: Known = new Map()
  const yoga = createYogaFor(deps, config, mask, known)
  let draining = false

  const http = createHttpServer((request, response) => {
    const path = request.url?.split('?', 1)[0]
    if (path === '/health' || path === '/ready') return void answerHealth(response, path, health, draining)
    const refused = refusal(request.headers, config)
    if (refused) return refuse(response, 403, refused)
    if (request.method === 'POST') {
      const length = request.headers['content-length']
      if (length === undefined) return refuse(response, 411, 'Send a Content-Length.')
      if (Number(length) > config.limits.bodyBytes) {
        return refuse(response, 413, `The body has ${length} bytes; at most ${config.limits.bodyBytes} are taken.`)
      }
    }
    if (draining) response.setHeader('connection', 'close')
    if (request.method === 'POST') answerPost(yoga, known, mask, request, response)
    else void yoga(request, response)
  })
  const sockets = attachWebSockets(http, { deps, config, yoga, mask })

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        http.once('error', reject)
        http.listen(config.port, config.host, () => resolve((http.address() as AddressInfo).port))
      }),
    async close() {
      draining = true
      const quiet = Promise.all([new Promise((resolve) => http.close(resolve)), sockets.close()])
      http.closeIdleConnections()
      // Requests that stream (Server-Sent Events) do not end by themselves.
      const late = setTimeout(() => http.closeAllConnections(), config.shutdownMs)
      await quiet
      clearTimeout(late)
    },
  }
}
