// GraphQL over WebSocket on /graphql, with the protocol of graphql-ws. Operations use yoga's plugins and error masking.
// A subscription to a conversation's events is not executed for each client: fan-out.ts renders its payloads, which are
// written directly to the socket.

import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { getArgumentValues, GraphQLError, type DocumentNode, type ExecutionArgs, type ExecutionResult } from 'graphql'
import { CloseCode, handleProtocols, makeServer, type SubscribePayload } from 'graphql-ws'
import { WebSocketServer, type WebSocket } from 'ws'
import type { ServerConfig } from './server-config.ts'
import type { Deps } from '../domain/deps.ts'
import type { Sink } from '../domain/event/follow.ts'
import { readInto, type Subscription } from '../domain/event/reader.ts'
import { createPresenceHolder, type PresenceHolder } from '../domain/presence.ts'
import { createPushIterator } from '../domain/push-iterator.ts'
import type { Viewer } from '../domain/view.ts'
import { admit } from '../graphql/limits/execute.ts'
import { createRequestContext } from '../graphql/request.ts'
import { viewerFrom } from './auth.ts'
import { payloadOf, rendering, sharedDocument, type Rendering } from './fan-out.ts'
import { rejectionReason } from './guard.ts'
import type { Yoga } from './yoga.ts'
import { createOutbox, type Outbox } from './outbox.ts'

/** Interval of pings, and time within which the client must respond to a ping, ms. */
const PING_INTERVAL_MS = 12_000
/** Maximum number of concurrent operations per socket. */
const MAX_OPERATIONS = 100

/** The state of one socket; `operations` are ids. The viewer is null until the client has connected. */
type Extra = {
  outbox: Outbox
  holder: PresenceHolder
  viewer: Viewer | null
  operations: Set<string>
  isGone(): boolean
}
type Services = { deps: Deps; config: ServerConfig; yoga: Yoga; mask(error: unknown): GraphQLError }
type Enveloped = ReturnType<Services['yoga']['getEnveloped']>
/** Passed from onSubscribe to `execute` and `subscribe` in the root value. */
type Prepared = { enveloped: Enveloped; id: string; extra: Extra }

const preparedOf = (args: ExecutionArgs) => args.rootValue as Prepared

type ProtocolServer = ReturnType<typeof createProtocolServer>

/** Creates the graphql-ws server, with yoga's plugins and the shared subscriptions. */
function createProtocolServer(services: Services) {
  return makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: 5_000,
    onConnect({ connectionParams, extra }) {
      // Throwing closes the socket with 4500; false closes it with 4403, without a reason.
      const parameters = new Map(
        Object.entries(connectionParams ?? {}).map(([key, value]) => [key.toLowerCase(), value]),
      )
      try {
        extra.viewer = viewerFrom((header) => parameters.get(header))
        return true
      } catch {
        return false
      }
    },
    onSubscribe: ({ extra }, id, payload) => prepare(services, extra, id, payload),
    onComplete({ extra }, id) {
      extra.operations.delete(id)
    },
    execute: (args) => preparedOf(args).enveloped.execute(args),
    subscribe: (args) => subscribe(services, args),
  })
}

/** Accepts WebSockets on /graphql of the server. `close` rejects new sockets, and resolves when all are closed. */
export function attachWebSockets(http: Server, services: Services): { close(): Promise<void> } {
  const { config, deps } = services
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: config.limits.frameBytes,
    perMessageDeflate: false,
    handleProtocols,
  })
  const server = createProtocolServer(services)
  let draining = false

  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const path = request.url?.split('?', 1)[0]
    const reason = draining
      ? '503 Service Unavailable'
      : path !== '/graphql'
        ? '404 Not Found'
        : rejectionReason(request.headers, config)
          ? '403 Forbidden'
          : null
    if (reason) return socket.end(`HTTP/1.1 ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    sockets.handleUpgrade(request, socket, head, (client) => openSocket(deps, server, client, socket))
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

/** Passes the messages of a socket to the protocol server, and its closing to the presence holder. */
function openSocket(deps: Deps, server: ProtocolServer, client: WebSocket, socket: Duplex): void {
  const outbox = createOutbox(socket)
  const isGone = () => socket.destroyed
  const extra: Extra = { outbox, holder: createPresenceHolder(deps), viewer: null, operations: new Set(), isGone }
  const closed = server.opened(
    {
      protocol: client.protocol,
      // Flush first, so that a message of graphql-ws is sent after the frames that were added before it.
      send(data) {
        outbox.flush()
        return new Promise((resolve, reject) => {
          if (client.readyState !== client.OPEN) return resolve()
          client.send(data, (error) => (error ? reject(error) : resolve()))
        })
      },
      close: (code, reason) => client.close(code, reason),
      onMessage: (receive) =>
        void client.on('message', (data) => {
          receive(String(data)).catch((error: unknown) => {
            deps.log.error({ err: error }, 'handling a WebSocket message failed')
            client.close(CloseCode.InternalServerError, 'Internal server error')
          })
        }),
    },
    extra,
  )
  const stopPinging = keepAlive(client)
  // After an invalid or too large frame, ws closes the socket with the right code.
  client.on('error', (error) => deps.log.debug({ err: error }, 'a WebSocket failed'))
  client.once('close', (code, reason) => {
    stopPinging()
    void closed(code, String(reason))
    extra.holder.end().catch((error) => deps.log.warn({ err: error }, 'ending presence failed'))
  })
}

/** Terminates the socket when the client no longer responds to pings. Returns a function that stops the pings. */
function keepAlive(client: WebSocket): () => void {
  let alive = true
  client.on('pong', () => (alive = true))
  const timer = setInterval(() => {
    if (!alive) return client.terminate()
    alive = false
    if (client.readyState === client.OPEN) client.ping()
  }, PING_INTERVAL_MS)
  return () => clearInterval(timer)
}

/** Returns the arguments to execute, or the errors of an operation that is rejected. */
async function prepare(
  { yoga }: Services,
  extra: Extra,
  id: string,
  payload: SubscribePayload,
): Promise<ExecutionArgs | readonly GraphQLError[]> {
  const enveloped = yoga.getEnveloped({
    viewer: extra.viewer!,
    holder: extra.holder,
    isGone: extra.isGone,
    params: payload,
  })
  const { schema, parse, validate, contextFactory } = enveloped
  let document: DocumentNode
  try {
    document = parse(payload.query) as DocumentNode
  } catch (error) {
    return [error as GraphQLError]
  }
  const errors = validate(schema, document) as readonly GraphQLError[]
  if (errors.length) return errors
  if (extra.operations.size >= MAX_OPERATIONS) {
    const message = `This socket already runs ${MAX_OPERATIONS} operations: complete one, or open another socket.`
    return [new GraphQLError(message, { extensions: { code: 'TOO_MANY_OPERATIONS' } })]
  }
  extra.operations.add(id)
  const rootValue: Prepared = { enveloped, id, extra }
  return {
    schema,
    document,
    operationName: payload.operationName,
    variableValues: payload.variables,
    contextValue: await contextFactory(),
    rootValue,
  }
}

async function subscribe(
  services: Services,
  args: ExecutionArgs,
): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> {
  const { enveloped, id, extra } = preparedOf(args)
  const shared = sharedDocument(args.schema, args.document, args.operationName)
  if (!shared) return enveloped.subscribe({ ...args, rootValue: undefined })
  const limits = services.config.operationLimits
  const refused = await admit(services.deps, extra.viewer!, args, limits)
  if (refused) return { errors: [refused] }
  const field = args.schema.getSubscriptionType()!.getFields()[shared.field.name.value]!
  try {
    const input = getArgumentValues(field, shared.field, args.variableValues) as Subscription
    const contextOf = (viewer: Viewer) => createRequestContext(services.deps, viewer, null, limits)
    return await deliver(services.deps, extra, id, input, rendering(shared, args, contextOf, services.mask, limits))
  } catch (error) {
    return { errors: [services.mask(error)] }
  }
}

/** Writes the conversation's events to the socket. The returned iterable is empty, and ends with the subscription. */
async function deliver(
  deps: Deps,
  { outbox, viewer }: Extra,
  id: string,
  input: Subscription,
  renderer: Rendering,
): Promise<AsyncIterable<ExecutionResult>> {
  const prefix = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`)
  const ending = createPushIterator<never>(1)
  const stop = await readInto(deps, viewer!, input, (reader): Sink => ({
    push(event, view) {
      outbox.add(prefix, payloadOf(event, view, reader, renderer))
      return !outbox.isFull()
    },
    drained: () => outbox.drained(),
    end(error) {
      // Wait, so that the protocol's 'complete' is sent after the last event.
      if (error === undefined) void outbox.emptied().then(() => ending.end())
      else ending.end(error)
    },
  }))
  return ending.iterate(stop)
}
