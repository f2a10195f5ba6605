// GraphQL over WebSocket on /graphql: refuses upgrades and sockets, and connects protocol.ts with operation.ts, which
// runs the operations.

import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, handleProtocols, type SubscribePayload } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import { viewerOfConnection } from './auth.ts'
import { rejectionOf, type Rejection } from './guard.ts'
import { prepareOperation, type OperationServices, type Outcome } from './operation.ts'
import type { Operation } from './protocol.ts'
import { BUSY, refuseUpgrade, UNKNOWN_PATH, type Refusal } from './refuse.ts'
import { openSocket, TOO_MANY_REQUESTS, type Extra } from './socket.ts'
import { createTally, type Tally } from '../domain/event/tally.ts'
import { targetOf } from './target.ts'

/** Maximum number of sockets whose clients have not sent `connection_init`: for one address, and for the process. */
const UNCONNECTED = { perKey: 1_000, total: 2_000 }

type Services = OperationServices & {
  /** Logs a rejected upgrade. */
  logRejection(rejection: Rejection): void
}

/** Accepts WebSockets on /graphql of the server. `close` rejects new sockets, and resolves when all are closed. */
export function attachWebSockets(http: Server, services: Services): { close(): Promise<void> } {
  const { config, deps, logRejection } = services
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: config.limits.frameBytes,
    perMessageDeflate: false,
    handleProtocols,
  })
  const unconnected = createTally(UNCONNECTED)
  const perViewer = createTally({ perKey: config.socketsPerViewer })
  let draining = false

  function refusalOf(request: IncomingMessage): Refusal | null {
    if (draining) return { ...BUSY, message: 'The server is stopping. Connect again.' }
    const target = targetOf(request.url)
    if (target?.path !== '/graphql') return UNKNOWN_PATH
    const headers = target.host === null ? request.headers : { ...request.headers, host: target.host }
    const rejection = rejectionOf(headers, config)
    if (rejection) logRejection(rejection)
    return rejection
  }

  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const leave = unconnected.enter(request.socket.remoteAddress ?? '')
    const message = 'Too many WebSockets have not sent connection_init. Connect again.'
    const refusal = refusalOf(request) ?? (leave ? null : { ...BUSY, message })
    if (refusal) {
      leave?.()
      return refuseUpgrade(socket, refusal)
    }
    socket.once('close', leave!)
    sockets.handleUpgrade(request, socket, head, (client) =>
      openSocket(deps, client, socket, leave!, (extra) => ({
        connect: (parameters) => connect(services, extra, perViewer, parameters, request.headers),
        run: (operation, payload) => run(services, extra, operation, payload),
        mask: services.mask,
      })),
    )
  })

  return {
    async close() {
      draining = true
      for (const client of sockets.clients) client.close(1001, 'Going away')
      const forceClose = setTimeout(() => {
        for (const client of sockets.clients) client.terminate()
      }, config.shutdownMs / 2)
      await Promise.all([...sockets.clients].map((client) => new Promise((resolve) => client.once('close', resolve))))
      clearTimeout(forceClose)
    },
  }
}

/** Determines the viewer of the socket. Returns null, or the close code and reason if the socket is refused. */
function connect(
  { deps, config: { socketsPerViewer } }: Services,
  extra: Extra,
  perViewer: Tally,
  parameters: Record<string, unknown>,
  headers: IncomingHttpHeaders,
) {
  try {
    extra.viewer = viewerOfConnection(parameters, headers)
  } catch (error) {
    return { code: CloseCode.BadRequest, reason: (error as Error).message }
  }
  extra.leaveUnconnected()
  const leave = perViewer.enter(JSON.stringify([extra.viewer.tenant, extra.viewer.actor]))
  if (!leave) {
    const reason = `Too many sockets: at most ${socketsPerViewer} per viewer.`
    deps.log.warn({ viewer: extra.viewer, reason }, 'closed a WebSocket')
    return { code: TOO_MANY_REQUESTS, reason }
  }
  extra.leaveViewer = leave
  return null
}

/** Runs one operation; its events are added to the socket's outbox. */
function run(
  services: Services,
  { viewer, holder, outbox, isGone }: Extra,
  operation: Operation,
  payload: SubscribePayload,
): Promise<Outcome> {
  const prefix = Buffer.from(`{"id":${JSON.stringify(operation.id)},"type":"next","payload":`)
  const client = {
    viewer: viewer!,
    holder,
    operation,
    isGone: () => isGone() || !operation.isLive,
    outbox,
    prefixOf: () => prefix,
    resumeAfter: null,
  }
  return prepareOperation(services, client, payload).run()
}
