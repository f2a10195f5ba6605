// The HTTP server: GraphQL at /graphql (by GET, POST, Server-Sent Events and WebSocket), the REST API, the MCP server, AG-UI,
// GraphiQL, /health and /ready. Unexpected errors on every path are masked.

import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { createYogaServer, maskWith } from '../graphql/yoga.ts'
import type { ServerConfig } from '../server-config.ts'
import type { Deps } from '../../domain/deps.ts'
import type { Health } from '../../domain/kernel/platform.ts'
import { InvalidInput } from '../../errors.ts'
import { createAdmission, type Admission } from '../load/admission.ts'
import { createAuthenticator, type Authenticator, type Identity } from '../auth/authenticator.ts'
import { tokenOfHeaders } from '../auth/bearer.ts'
import { namesOfRequest } from '../auth/names.ts'
import { passGate, readBody, type BodyGates } from './body.ts'
import { createBodyGate, type BodyGate } from './body-gate.ts'
import { createClientAddresses, type ClientAddresses } from './client-address.ts'
import type { Door } from './doors/door.ts'
import { createEventStreams } from '../live/event-stream.ts'
import { protocolAt } from '../../faces/paths.ts'
import { fileBodyBytes } from './doors/file-body.ts'
import { createGraphqlDoor } from './doors/graphql.ts'
import { answerPage } from '../pages/pages.ts'
import { createRefusalLog, hostRefusal, originRefusal, type OriginRefusal } from './guard.ts'
import { createHealthReport, type HealthReport } from '../load/health.ts'
import { createDocumentCache } from '../graphql/known-documents.ts'
import { asksForStream } from './media-types.ts'
import { failWith, refuse, refuseOverloaded, UNKNOWN_PATH, type Refusal } from './refuse.ts'
import { createDoors, type Doors } from './doors/doors.ts'
import { searchOf, targetOf } from './parameters.ts'
import { endUnread } from '../live/unread-data.ts'
import { attachWebSockets } from '../live/ws.ts'

export type Server = {
  /** Memory that the server uses for the bodies of requests, and for parsed documents, in bytes. */
  usage(): { bodies: number; documents: number }
  /** Decides which operations may start, and reports the load. */
  admission: Admission
  /** Starts listening and resolves with the port. Rejects if the port is in use. */
  listen(): Promise<number>
  /**
   * Stops accepting connections, closes WebSockets with 1001 and ends event streams, so that clients reconnect to
   * another process. Running requests continue. Resolves when all connections are closed, within SHUTDOWN_SECONDS.
   */
  close(): Promise<void>
}

/** Maximum number of open connections. Further connections are closed immediately. @internal */
export const MAX_CONNECTIONS = 10_000
/** Time within which the headers of a request must arrive, ms. */
const HEADERS_TIMEOUT_MS = 15_000
/** The viewer of a preflight, which executes nothing. */
const PREFLIGHT = { tenant: '', actor: '' }
/** Interval at which Node checks the time limits of requests, ms. */
const CHECK_MS = 5_000

type Services = {
  config: ServerConfig
  health: HealthReport
  bodies: BodyGate
  gates: BodyGates
  addresses: ClientAddresses
  authenticator: Authenticator
  admission: Admission
  graphql: Door
  doors: Doors
  /** Passes a CORS preflight to yoga, which answers it. A preflight never authenticates. */
  answerPreflight(request: IncomingMessage, response: ServerResponse): void
  /** Logs a request that was refused because of its Host or Origin. */
  logRefusal(refusal: OriginRefusal): void
  isDraining(): boolean
}

/** Returns the identity of the client, or a refusal if the door does not accept the request, or its names are invalid. */
function identify(
  authenticator: Authenticator,
  door: Door,
  request: IncomingMessage,
): Identity | Refusal | Promise<Identity | Refusal> {
  const { method, headers, url } = request
  const refusal = door.refusalOf(request)
  if (refusal) return refusal
  try {
    // An EventSource cannot set headers, so it sends the names in the URL.
    const names = namesOfRequest(headers, method === 'GET' && asksForStream(headers.accept) ? searchOf(url) : null)
    return authenticator.identify(tokenOfHeaders(headers), names)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    const { code, message, issues } = error
    return { status: 400, code, message, issues }
  }
}

/** Lets a page of an allowed origin read the response, even if the request does not reach yoga. */
function allowReading({ headers: { origin } }: IncomingMessage, response: ServerResponse, config: ServerConfig): void {
  if (origin === undefined || !config.allowedOrigins.includes(origin)) return
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'ETag, Link, Mcp-Session-Id, Retry-After')
  response.setHeader('vary', 'Origin')
}

/** Answers one request. Rejects with any unexpected error, which the caller masks. */
async function handle(services: Services, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { config, health, addresses } = services
  // A connection that the client has closed has no address.
  const address = addresses.of(request)
  const malformed = hostRefusal(request)
  if (malformed) return refuse(response, malformed)
  const target = targetOf(request.url)
  if (!target || (target.path === '*' && request.method !== 'OPTIONS')) {
    return refuse(response, { status: 400, code: 'BAD_REQUEST', message: 'The target of the request is not a URL.' })
  }
  const { path, url, host } = target
  if (path === '*') return void response.writeHead(204, { allow: 'GET, POST, OPTIONS' }).end()
  request.url = url
  if (host !== null) request.headers.host = host
  if (path === '/health' || path === '/ready') return health.answer(response, path, services.isDraining())
  const refusal = originRefusal(request.headers, config)
  if (refusal) {
    services.logRefusal(refusal)
    return refuse(response, refusal)
  }
  allowReading(request, response, config)
  if ((request.method === 'GET' || request.method === 'HEAD') && (await answerPage(request, response, path, config)))
    return
  const protocol = protocolAt(path)
  if (protocol === null) return refuse(response, UNKNOWN_PATH)
  if (request.method === 'OPTIONS') return services.answerPreflight(request, response)
  // Not awaited, because the door of GraphQL is loaded already.
  if (protocol === 'graphql') return admitThrough(services.graphql, services, { request, response, address })
  const door = await services.doors.at(protocol, request, response, path)
  if (door) await admitThrough(door, services, { request, response, address })
}

/** Authenticates the client, admits the operation, reads the body of the request, and passes both to the door. */
async function admitThrough(
  door: Door,
  services: Services,
  { request, response, address }: { request: IncomingMessage; response: ServerResponse; address: string },
): Promise<void> {
  const found = identify(services.authenticator, door, request)
  const identity = found instanceof Promise ? await found : found
  if ('status' in identity) return refuse(response, identity)
  // A closed response emits no further "close" event, so the operation might be counted forever.
  if (response.destroyed) return
  const leave = services.admission.enter(identity.viewer.tenant)
  if (!leave) return refuseOverloaded(response)
  const sender = { viewer: identity.viewer, address, maximum: door.bodyBytes }
  if (door.hasBody(request) && !services.bodies.admit(request, response, sender)) return leave()
  if (services.isDraining()) response.setHeader('connection', 'close')
  const visit = { request, response, identity, leave }
  if (!door.hasBody(request)) return door.answer({ ...visit, body: null })
  let isWaiting = true
  response.once('close', () => {
    if (isWaiting) leave()
  })
  const length = Number(request.headers['content-length'])
  const body = await readBody(request, length)
  await passGate(services.gates, identity.viewer, length, async () => {
    isWaiting = false
    if (!response.destroyed) await door.answer({ ...visit, body })
  })
}

/**
 * Returns a server that answers requests, and closes connections that accept no data. `fail` answers a request whose
 * handling has rejected.
 */
function createHttp(
  services: Services,
  deps: Deps,
  fail: (response: ServerResponse) => (error: unknown) => void,
): HttpServer {
  const { config, addresses } = services
  const { bodyTimeoutMs, writeTimeoutMs } = config
  const http = createHttpServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: HEADERS_TIMEOUT_MS + bodyTimeoutMs,
      connectionsCheckingInterval: CHECK_MS,
      // hostRefusal answers a request without Host, with an error in the format of GraphQL.
      requireHostHeader: false,
    },
    (request, response) => {
      const answer = () => void handle(services, request, response).catch(fail(response))
      // Pipelined requests are answered one after the other, so a connection has one unread answer. A response gets its
      // socket after the one before it; if the connection is closed earlier, it emits no event.
      if (response.socket) answer()
      else response.once('socket', answer)
    },
  )
  http.maxConnections = MAX_CONNECTIONS
  endUnread(http, writeTimeoutMs, deps, (socket, ended) => {
    const reason =
      ended === 'timeout'
        ? `The client accepted no data for ${writeTimeoutMs / 1000} s.`
        : 'The client reads too slowly, and others wait for the memory of its unread data.'
    deps.log.warn({ clientAddress: addresses.last(socket), reason }, 'closed a connection')
  })
  return http
}

/**
 * Creates the HTTP and WebSocket server. It starts listening when `listen` is called.
 * @param config host, port, allowed origins and limits
 * @param health checks for /ready, from createDeps
 */
export function createServer(deps: Deps, config: ServerConfig, health: Health): Server {
  const mask = maskWith(deps)
  const documents = createDocumentCache()
  const yoga = createYogaServer(deps, config, mask, documents)
  const streams = createEventStreams({ deps, config, yoga, mask })
  const authenticator = createAuthenticator(deps, config.authentication)
  const admission = createAdmission(
    deps.clock,
    { ...deps.delays, reads: deps.gates.reads },
    config.maxQueueMs,
    deps.log,
  )
  const bodies = createBodyGate(
    { ...config, bodyBytes: config.limits.bodyBytes, fileBytes: fileBodyBytes(deps.files.limits) },
    deps.clock,
  )
  const addresses = createClientAddresses(config.trustedProxies)
  let draining = false
  const fail = failWith(mask)
  const graphql = createGraphqlDoor({ yoga, documents, mask, streams, isFast: config.fastPost })
  const doors = createDoors({ deps, yoga, streams, mask, fail })
  const services: Services = {
    graphql,
    doors,
    config,
    health: createHealthReport(health, deps, () => admission.isShedding),
    bodies,
    gates: deps.gates,
    addresses,
    authenticator,
    admission,
    isDraining: () => draining,
    answerPreflight: (request, response) => void yoga(request, response, { viewer: PREFLIGHT }),
    logRefusal: createRefusalLog(deps.log, config),
  }

  const http = createHttp(services, deps, fail)
  const sockets = attachWebSockets(http, {
    deps,
    config,
    yoga,
    mask,
    authenticator,
    admission,
    addresses,
    logRefusal: services.logRefusal,
  })

  return {
    usage: () => ({ bodies: bodies.used, documents: documents.calculatedSize }),
    admission,
    listen: () =>
      new Promise((resolve, reject) => {
        http.once('error', reject)
        http.listen(config.port, config.host, () => resolve((http.address() as AddressInfo).port))
      }),
    async close() {
      draining = true
      const closed = Promise.all([new Promise((resolve) => http.close(resolve)), sockets.close()])
      http.closeIdleConnections()
      streams.close()
      doors.close()
      const forceClose = deps.clock.setTimeout(() => http.closeAllConnections(), config.shutdownMs)
      await closed
      deps.clock.clearTimeout(forceClose)
      bodies.close()
      admission.close()
      await authenticator.close()
    },
  }
}
