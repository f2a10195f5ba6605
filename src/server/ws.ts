// GraphQL over WebSocket on /graphql, by protocol.ts. Operations use yoga's plugins and error masking. A subscription
// to a conversation's events is not executed for each client: fan-out.ts renders its payloads, which are written
// directly to the socket.

import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
} from 'graphql'
import { CloseCode, handleProtocols, type SubscribePayload } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import type { ServerConfig } from './server-config.ts'
import type { Deps } from '../domain/deps.ts'
import type { Sink } from '../domain/event/follow.ts'
import { readInto, type Subscription } from '../domain/event/reader.ts'
import { createPushIterator } from '../domain/push-iterator.ts'
import type { Viewer } from '../domain/view.ts'
import { admit } from '../graphql/limits/execute.ts'
import { createRequestContext } from '../graphql/request.ts'
import { viewerOfConnection } from './auth.ts'
import { payloadOf, rendering, sharedDocument, type Rendering } from './fan-out.ts'
import { rejectionOf, type Rejection } from './guard.ts'
import type { Operation, Outcome } from './protocol.ts'
import { BUSY, refuseUpgrade, UNKNOWN_PATH, type Refusal } from './refuse.ts'
import type { Yoga } from './yoga.ts'
import { openSocket, TOO_MANY_REQUESTS, type Extra } from './socket.ts'
import { createTally, type Tally } from '../domain/event/tally.ts'
import { targetOf } from './target.ts'

/** Maximum number of sockets whose clients have not sent `connection_init`: for one address, and for the process. */
const UNCONNECTED = { perKey: 1_000, total: 2_000 }

type Services = {
  deps: Deps
  config: ServerConfig
  yoga: Yoga
  mask(error: unknown): GraphQLError
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

/** Runs one operation with yoga's plugins. */
async function run(
  services: Services,
  extra: Extra,
  operation: Operation,
  payload: SubscribePayload,
): Promise<Outcome> {
  const enveloped = services.yoga.getEnveloped({
    viewer: extra.viewer!,
    holder: extra.holder,
    isGone: () => extra.isGone() || !operation.isLive,
    params: payload,
  })
  const { schema, parse, validate, contextFactory } = enveloped
  let document: DocumentNode
  try {
    document = parse(payload.query) as DocumentNode
  } catch (error) {
    return [services.mask(error)]
  }
  const errors = validate(schema, document) as readonly GraphQLError[]
  if (errors.length) return errors
  const { operationName, variables: variableValues } = payload
  const contextValue = await contextFactory()
  const args: ExecutionArgs = { schema, document, operationName, variableValues, contextValue }
  if (getOperationAST(document, operationName)?.operation !== OperationTypeNode.SUBSCRIPTION) {
    return enveloped.execute(args) as Promise<ExecutionResult>
  }
  const shared = sharedDocument(schema, document, operationName)
  if (!shared) return enveloped.subscribe(args) as Promise<AsyncIterable<ExecutionResult> | ExecutionResult>
  const limits = services.config.operationLimits
  const refused = await admit(services.deps, extra.viewer!, args, limits)
  if (refused) return { errors: [refused] }
  const { errors: invalid, coerced } = getVariableValues(
    schema,
    shared.operation.variableDefinitions ?? [],
    variableValues ?? {},
  )
  if (invalid) return { errors: invalid.map(services.mask) }
  const field = schema.getSubscriptionType()!.getFields()[shared.field.name.value]!
  try {
    const input = getArgumentValues(field, shared.field, coerced) as Subscription
    const contextOf = (viewer: Viewer) => createRequestContext(services.deps, viewer, null, limits)
    const renderer = rendering(shared, args, contextOf, services.mask, limits)
    return await deliver(services.deps, extra, operation, input, renderer)
  } catch (error) {
    return { errors: [services.mask(error)] }
  }
}

/** Writes the conversation's events to the socket. The returned iterable is empty, and ends with the subscription. */
async function deliver(
  deps: Deps,
  { outbox, viewer }: Extra,
  operation: Operation,
  input: Subscription,
  renderer: Rendering,
): Promise<AsyncIterable<ExecutionResult>> {
  const prefix = Buffer.from(`{"id":${JSON.stringify(operation.id)},"type":"next","payload":`)
  const ending = createPushIterator<never>(1)
  if (!operation.isLive) {
    ending.end()
    return ending.iterate(() => {})
  }
  const stop = await readInto(deps, viewer!, input, (reader): Sink => ({
    push(event, view) {
      // The client may have completed the operation while its subscription was starting.
      if (operation.isLive) outbox.add(prefix, payloadOf(event, view, reader, renderer))
    },
    isFull: () => outbox.isFull(),
    drained: () => outbox.drained(),
    end(error) {
      // Wait, so that the protocol's 'complete' is sent after the last event.
      if (error === undefined) void outbox.emptied().then(() => ending.end())
      else ending.end(error)
    },
  }))
  return ending.iterate(stop)
}
