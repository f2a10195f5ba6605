// The HTTP server: GraphQL at /graphql (queries, GraphiQL, Server-Sent Events, WebSocket upgrades), /health and /ready.

import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ServerConfig } from './server-config.ts'
import type { Deps } from '../domain/deps.ts'
import type { Health } from '../domain/platform.ts'
import { rejectionReason } from './guard.ts'
import { answerHealth } from './health.ts'
import { createDocumentCache } from './known-documents.ts'
import { answerPost } from './post.ts'
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

const refuse = (response: ServerResponse, status: number, message: string) => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', connection: 'close' })
  response.end(JSON.stringify({ errors: [{ message }] }))
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
  let draining = false

  const http = createHttpServer((request, response) => {
    const path = request.url?.split('?', 1)[0]
    if (path === '/health' || path === '/ready') return void answerHealth(response, path, health, draining)
    const reason = rejectionReason(request.headers, config)
    if (reason) return refuse(response, 403, reason)
    if (request.method === 'POST') {
      const length = request.headers['content-length']
      if (length === undefined) return refuse(response, 411, 'The Content-Length header is missing.')
      if (Number(length) > config.limits.bodyBytes) {
        return refuse(response, 413, `The body has ${length} bytes; at most ${config.limits.bodyBytes} are accepted.`)
      }
    }
    if (draining) response.setHeader('connection', 'close')
    if (request.method === 'POST' && config.fastPost) answerPost(yoga, documents, mask, request, response)
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
      const closed = Promise.all([new Promise((resolve) => http.close(resolve)), sockets.close()])
      http.closeIdleConnections()
      // Server-Sent Events responses do not end by themselves.
      const forceClose = setTimeout(() => http.closeAllConnections(), config.shutdownMs)
      await closed
      clearTimeout(forceClose)
    },
  }
}
