// GraphQL over WebSocket on /graphql: accepts or refuses upgrades and clients, and passes operations from protocol.ts
// to operation.ts.

import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { GraphQLError } from 'graphql'
import { CloseCode, handleProtocols, type SubscribePayload } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import { counters, refused } from '../../runtime/counters.ts'
import type { Principal } from '../../domain/kernel/rights/principal.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { InvalidInput } from '../../errors.ts'
import type { HeldAnswer } from '../../graphql/kernel/limits/work.ts'
import { createTally, type Tally } from '../../runtime/limits/tally.ts'
import type { Admission } from '../load/admission.ts'
import type { Authenticator, Identity } from '../auth/authenticator.ts'
import { tokenOfHeaders, tokenOfParameters } from '../auth/bearer.ts'
import { lowerCaseKeys, namesOfConnection } from '../auth/names.ts'
import { OTHER_PRINCIPAL } from '../auth/refusals.ts'
import type { ClientAddresses } from '../http/client-address.ts'
import { WHOLE_RESULT } from './fan-out.ts'
import { hostRefusal, originRefusal, type OriginRefusal } from '../http/guard.ts'
import { prepareOperation, type OperationServices, type Outcome } from './operation.ts'
import type { Acceptance, Operation } from './protocol.ts'
import { BUSY, OVERLOADED, refuseUpgrade, UNKNOWN_PATH, type Refusal } from '../http/refuse.ts'
import { openSocket, TOO_MANY_REQUESTS, type Extra } from './socket.ts'
import { GRAPHQL } from '../../faces/paths.ts'
import { targetOf } from '../http/parameters.ts'
import { holdAnswer } from './unread-data.ts'

/** Maximum number of sockets whose clients have not sent `connection_init`: for one address, and for the process. */
const UNCONNECTED = { perKey: 1_000, total: 2_000 }

type Services = OperationServices & {
  authenticator: Authenticator
  admission: Admission
  addresses: ClientAddresses
  /** Logs an upgrade that was refused because of its Host or Origin. */
  logRefusal(refusal: OriginRefusal): void
}

/** Accepts WebSockets on /graphql of the server. `close` refuses new sockets, and resolves when all are closed. */
export function attachWebSockets(http: Server, services: Services): { close(): Promise<void> } {
  const { config, deps, addresses, logRefusal } = services
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
    const malformed = hostRefusal(request)
    if (malformed) return malformed
    const target = targetOf(request.url)
    if (target?.path !== GRAPHQL) return UNKNOWN_PATH
    const headers = target.host === null ? request.headers : { ...request.headers, host: target.host }
    const refusal = originRefusal(headers, config)
    if (refusal) logRefusal(refusal)
    return refusal
  }

  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const leave = unconnected.enter(addresses.of(request))
    const message = 'Too many WebSockets have not sent connection_init. Connect again.'
    const refusal = refusalOf(request) ?? (leave ? null : { ...BUSY, message })
    if (refusal) {
      leave?.()
      return refuseUpgrade(socket, refusal)
    }
    socket.once('close', leave!)
    sockets.handleUpgrade(request, socket, head, (client) =>
      openSocket(deps, { client, socket, leaveUnconnected: leave! }, (extra) => ({
        connect(parameters) {
          const found = identify(services, parameters, request.headers)
          const open = (identity: Identity | Refusal) => connect(services, extra, perViewer, identity)
          return found instanceof Promise ? found.then(open) : open(found)
        },
        renew: (payload) => renew(services, extra, payload),
        run: (operation, payload) => run(services, extra, operation, payload),
        mask: services.mask,
      })),
    )
  })

  return {
    async close() {
      draining = true
      for (const client of sockets.clients) client.close(1001, 'Going away')
      const forceClose = deps.clock.setTimeout(() => {
        for (const client of sockets.clients) client.terminate()
      }, config.shutdownMs / 2)
      await Promise.all([...sockets.clients].map((client) => new Promise((resolve) => client.once('close', resolve))))
      deps.clock.clearTimeout(forceClose)
    },
  }
}

/** Close code after which the client may connect again later (IANA registry of RFC 6455 §7.4.2). */
const TRY_AGAIN_LATER = 1013

/** Returns the close code and reason with which a refusal closes a socket. */
const closingOf = ({ status, message: reason }: Refusal) => ({
  code: status === 400 ? CloseCode.BadRequest : status === 503 ? TRY_AGAIN_LATER : CloseCode.Forbidden,
  reason,
})

/** Returns the acceptance, whose payload contains the time at which the token expires. */
const acceptanceOf = ({ viewer: { principal } }: Identity): Acceptance =>
  principal ? { payload: { expiresAt: principal.expiresAt?.toISOString() ?? null } } : {}

/** Makes the socket close when the token of the identity expires or is revoked. Replaces the former token. */
function closeWithToken(extra: Extra, identity: Identity): void {
  extra.stopWatching()
  extra.viewer = identity.viewer
  extra.stopWatching = identity.watch((refusal) => {
    const { code, reason } = closingOf(refusal)
    extra.close(code, reason)
  })
}

/** Returns the identity of a client that sends connection_init, by its parameters and the headers of the upgrade. */
function identify(
  { authenticator }: Services,
  parameters: Record<string, unknown>,
  headers: IncomingHttpHeaders,
): ReturnType<Authenticator['identify']> {
  const given = lowerCaseKeys(parameters)
  try {
    const names = namesOfConnection(given, headers)
    return authenticator.identify(tokenOfParameters(given) ?? tokenOfHeaders(headers), names)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return { status: 400, code: error.code, message: error.message }
  }
}

/** Connects the client as the viewer, or returns the close code and reason if the client is refused. */
function connect(
  { deps, admission, config: { socketsPerViewer } }: Services,
  extra: Extra,
  perViewer: Tally,
  identity: Identity | Refusal,
): Acceptance {
  if ('status' in identity) return closingOf(identity)
  if (extra.isGone()) return {}
  const { viewer } = identity
  if (admission.isFullFor(viewer.tenant)) {
    counters.shed.websocket += 1
    return closingOf(OVERLOADED)
  }
  extra.viewer = viewer
  extra.leaveUnconnected()
  const leave = perViewer.enter(JSON.stringify([viewer.tenant, viewer.actor]))
  if (!leave) {
    const reason = `Too many sockets: at most ${socketsPerViewer} per viewer.`
    deps.log.warn({ viewer, reason }, 'closed a WebSocket')
    return { code: TOO_MANY_REQUESTS, reason }
  }
  extra.leaveViewer = leave
  extra.holder.connect(viewer)
  closeWithToken(extra, identity)
  return acceptanceOf(identity)
}

/** Whether a token with the second principal may replace one with the first on an open socket. */
function mayReplace(first: Principal, second: Principal): boolean {
  const allowed = second.conversations
  return (
    first.tenant === second.tenant
    && first.actor === second.actor
    && first.kind === second.kind
    && [...first.rights].every((right) => second.rights.has(right))
    && (allowed === null || (first.conversations !== null && [...first.conversations].every((id) => allowed.has(id))))
  )
}

/**
 * Replaces the token of the socket with the one in the payload of a ping. Returns null if the payload has no token, or
 * the server requires no authentication. Running operations continue with the principal with which they started, so the
 * new principal must have at least the same rights.
 */
function renew(
  { authenticator }: Services,
  extra: Extra,
  payload: Record<string, unknown>,
): Promise<Acceptance> | null {
  const first = extra.viewer?.principal
  const token = tokenOfParameters(lowerCaseKeys(payload))
  if (!first || token === null) return null
  return (async () => {
    const identity = await authenticator.identify(token, { tenant: null, actor: null })
    if ('status' in identity) return closingOf(identity)
    if (!mayReplace(first, identity.viewer.principal!)) return closingOf(OTHER_PRINCIPAL)
    if (!extra.isGone()) closeWithToken(extra, identity)
    return acceptanceOf(identity)
  })()
}

/** Counts an operation that is not started because the process is overloaded, and returns its error. */
function overloaded(): GraphQLError {
  counters.shed.websocket += 1
  refused(OVERLOADED.code)
  const { code, message, retryAfter: retryAfterSeconds } = OVERLOADED
  return new GraphQLError(message, { extensions: { code, retryAfterSeconds } })
}

/**
 * Runs one operation, and adds its events to the socket's outbox. A subscription counts as in progress only until it is
 * open.
 */
async function run(
  services: Services,
  { socket, viewer, holder, outbox, isGone }: Extra,
  operation: Operation,
  payload: SubscribePayload,
): Promise<Outcome> {
  const leave = services.admission.enter(viewer!.tenant)
  if (!leave) return [overloaded()]
  const prefix = Buffer.from(`{"id":${JSON.stringify(operation.id)},"type":"next","payload":`)
  const client = {
    viewer: viewer!,
    holder,
    onSubscribed: (viewer: Viewer) => holder.connect(viewer),
    operation,
    isGone: () => isGone() || !operation.isLive,
    holdAnswer: (answer: HeldAnswer) => operation.whenEnded(holdAnswer(socket, viewer!, answer)),
    outbox,
    format: { ...WHOLE_RESULT, prefixOf: () => prefix },
    resumeAfter: null,
  }
  try {
    return await prepareOperation(services, client, payload).run()
  } finally {
    leave()
  }
}
