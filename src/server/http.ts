// The HTTP server: GraphQL at /graphql (queries, GraphiQL, Server-Sent Events, WebSocket upgrades), /health and /ready.
// An unexpected error on any path becomes a masked JSON response.

import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ServerConfig } from './server-config.ts'
import type { Deps } from '../domain/deps.ts'
import type { Health } from '../domain/platform.ts'
import { createBodyGate, type BodyGate } from './body-gate.ts'
import { answerGraphiQL, asksForGraphiQL, GRAPHIQL_PATH } from './graphiql-page.ts'
import { rejectionReason } from './guard.ts'
import { createHealthReport, type HealthReport } from './health.ts'
import { createDocumentCache } from './known-documents.ts'
import { answerPost } from './post.ts'
import { refuse, type Refusal } from './refuse.ts'
import { targetOf } from './target.ts'
import { closeStalled } from './write-timeout.ts'
import { attachWebSockets } from './ws.ts'
import { createYogaServer, maskWith } from './yoga.ts'

export type Server = {
  /** Starts listening and resolves with the port. Rejects if the port is in use. */
  listen(): Promise<number>
  /**
   * Accepts no more connections, waits for running requests, and closes WebSockets with 1001, so that clients reconnect
   * to another process. Resolves when all connections are closed, at most SHUTDOWN_SECONDS later.
   */
  close(): Promise<void>
}

/** Maximum number of open connections. Further ones are closed at once. */
export const MAX_CONNECTIONS = 10_000
/** Time within which the headers of a request must arrive, ms. */
const HEADERS_TIMEOUT_MS = 15_000
/** Interval at which Node checks that time, ms. */
const CHECK_MS = 5_000

type Services = {
  config: ServerConfig
  health: HealthReport
  bodies: BodyGate
  /** Passes a request for /graphql to GraphQL. */
  answer(request: IncomingMessage, response: ServerResponse): void
  isDraining(): boolean
}

const NOT_FOUND: Refusal = { status: 404, code: 'NOT_FOUND', message: 'There is nothing here. GraphQL is at /graphql.' }

/** Answers one request. May throw or reject: the caller masks the error. */
async function handle(services: Services, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { config, health, bodies } = services
  const target = targetOf(request.url)
  if (!target || (target.path === '*' && request.method !== 'OPTIONS')) {
    return refuse(response, { status: 400, code: 'BAD_REQUEST', message: 'The target of the request is not a URL.' })
  }
  const { path, url, host } = target
  if (path === '*') return void response.writeHead(204, { allow: 'GET, POST, OPTIONS' }).end()
  request.url = url
  if (host !== null) request.headers.host = host
  if (path === '/health' || path === '/ready') return health.answer(response, path, services.isDraining())
  const reason = rejectionReason(request.headers, config)
  if (reason) return refuse(response, { status: 403, code: 'FORBIDDEN', message: reason })
  if (config.graphiql && (path.startsWith(GRAPHIQL_PATH) || (path === '/graphql' && asksForGraphiQL(request)))) {
    if (await answerGraphiQL(request, response, path)) return
  }
  if (path !== '/graphql') return refuse(response, NOT_FOUND)
  if (request.method === 'POST' && !bodies.admit(request, response)) return
  if (services.isDraining()) response.setHeader('connection', 'close')
  services.answer(request, response)
}

/**
 * Creates the HTTP and WebSocket server. It does not listen before `listen()`.
 *
 * @param config host, port, allowed origins and limits
 * @param health checks for /ready, from createDeps
 */
export function createServer(deps: Deps, config: ServerConfig, health: Health): Server {
  const mask = maskWith(deps)
  const documents = createDocumentCache()
  const yoga = createYogaServer(deps, config, mask, documents)
  const posts = { yoga, documents, mask, gates: deps.gates }
  const bodies = createBodyGate({ ...config, bodyBytes: config.limits.bodyBytes })
  let draining = false
  const services: Services = {
    config,
    health: createHealthReport(health, deps.log),
    bodies,
    isDraining: () => draining,
    answer(request, response) {
      if (request.method === 'POST' && config.fastPost) answerPost(posts, request, response)
      else void yoga(request, response)
    },
  }

  const http = createHttpServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: HEADERS_TIMEOUT_MS + config.bodyTimeoutMs,
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => {
      handle(services, request, response).catch((error: unknown) => {
        const { message } = mask(error)
        refuse(response, { status: 500, code: 'INTERNAL_SERVER_ERROR', message })
      })
    },
  )
  http.maxConnections = MAX_CONNECTIONS
  closeStalled(http, config.writeTimeoutMs, ({ remoteAddress }) => {
    const reason = `The client accepted no data for ${config.writeTimeoutMs / 1000} s.`
    deps.log.warn({ remoteAddress, reason }, 'closed a connection')
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
      const closed = Promise.all([new Promise((resolve) => http.close(resolve)), sockets.close()])
      http.closeIdleConnections()
      // Server-Sent Events responses do not end by themselves.
      const forceClose = setTimeout(() => http.closeAllConnections(), config.shutdownMs)
      await closed
      clearTimeout(forceClose)
      bodies.close()
    },
  }
}
