// Subscriptions over WebSocket, using the protocol graphql-transport-ws
// (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md). One socket carries up to 100 subscriptions. `resuming`
// lets the clients of other packages resume subscriptions.
//
// The client of graphql-ws 6.4.2 is not used: it would make the package 2 KiB larger than client-bundle.test.ts allows.
// `npx esbuild FILE --bundle --minify --format=esm | gzip -9 | wc -c` printed 1,893 bytes for this file and 3,416 for
// node_modules/graphql-ws/dist/client.js on 2026-11-29. The latter also repeats the old variables after close code 1000,
// has no limit for unread results or for the time to open a socket, and does not end a subscription whose WebSocket
// cannot be constructed.

import { ColloquyError, errorOfResult, networkError, type GraphQLErrors } from './errors.ts'
import type { Credentials, Operation, Result } from './http.ts'
import { sleep } from './retry.ts'

/** The part of a WebSocket that the client uses. */
export type WebSocketLike = {
  readyState: number
  send(data: string): void
  close(code?: number, reason?: string): void
  onopen: ((event: any) => void) | null
  onmessage: ((event: any) => void) | null
  onclose: ((event: any) => void) | null
  onerror: ((event: any) => void) | null
}
/** A WebSocket of a browser, of Node 22, or of the package `ws`. */
export type WebSocketClass = new (url: string, protocol: string) => WebSocketLike

export type SocketEndpoint = {
  /** @throws ColloquyError (BAD_URL) */
  url(): string
  WebSocket: WebSocketClass
  /** Returns the payload of `connection_init`. */
  credentials(): Promise<Credentials>
}

/** `readyState` of an open WebSocket. */
const OPEN = 1
/** Maximum number of subscriptions of one socket, as the server allows. */
const MAX_SUBSCRIPTIONS = 100
/** Time within which the server must accept a connection, ms. */
const CONNECT_MS = 15_000
/** Time without a message after which the client sends a ping, ms. After twice this time, it closes the socket. */
const PING_MS = 10_000
/** Time for which a socket without subscriptions stays open, ms. */
const IDLE_MS = 1_000
/** Maximum total length of one subscription's results that are not yet consumed, in UTF-16 units. */
const MAX_WAITING = 4 * 1024 * 1024
const TOO_SLOW = 'The subscription was ended, because its results are consumed too slowly.'
/** Close codes from 4400 to 4499 that refuse the client temporarily: a late `connection_init`, too many sockets. */
const TEMPORARY = new Set([4408, 4429])

type Subscription = {
  waiting: { payload: Result; length: number }[]
  /** Total length of `waiting`. */
  length: number
  /** The error that ended the subscription; null if it was completed; undefined while it is live. */
  ended: ColloquyError | null | undefined
  wake(): void
}

type Socket = { send(message: object): void; subscriptions: Map<string, Subscription>; close(): void; isOpen: boolean }

const errorOfClose = ({ code, reason }: { code: number; reason: string }): ColloquyError => {
  if (code < 4400 || code >= 4500 || TEMPORARY.has(code))
    return networkError(new Error(reason || `the WebSocket was closed with code ${code}`))
  return new ColloquyError(
    code === 4403 ? 'UNAUTHENTICATED' : 'BAD_REQUEST',
    reason || `The server closed the WebSocket with code ${code}.`,
  )
}

/** Creates the sockets of one client's subscriptions. Opens another one only if each has MAX_SUBSCRIPTIONS. */
export function createSockets(endpoint: SocketEndpoint) {
  /** The open and opening sockets, each with the number of its subscriptions. */
  const slots = new Set<{ socket: Promise<Socket>; subscriptionCount: number }>()
  let nextId = 1

  function acquire() {
    const free = [...slots].find(({ subscriptionCount }) => subscriptionCount < MAX_SUBSCRIPTIONS)
    const drop = () => void slots.delete(slot)
    const slot = free ?? {
      socket: endpoint.credentials().then((payload) => connect(endpoint, payload, drop)),
      subscriptionCount: 0,
    }
    if (!free) slot.socket.catch(drop)
    slot.subscriptionCount += 1
    slots.add(slot)
    return slot
  }

  async function release(slot: ReturnType<typeof acquire>): Promise<void> {
    slot.subscriptionCount -= 1
    if (slot.subscriptionCount > 0) return
    await sleep(IDLE_MS)
    if (slot.subscriptionCount === 0) (await slot.socket.catch(() => null))?.close()
  }

  return {
    /** Subscribes once. Ends when the server completes the subscription, or on abort. @throws ColloquyError */
    async *subscribe(
      operation: Operation,
      onStart: () => void,
      signal?: AbortSignal | null,
    ): AsyncGenerator<Result, void> {
      const slot = acquire()
      try {
        const socket = await slot.socket
        if (signal?.aborted) return
        onStart()
        yield* resultsOf(socket, String(nextId++), operation, signal)
      } finally {
        void release(slot)
      }
    },
    /** Closes all sockets; their subscriptions fail. */
    async close(): Promise<void> {
      for (const { socket } of [...slots]) (await socket.catch(() => null))?.close()
    },
  }
}

/** Opens a socket. Resolves when the server has accepted it. */
function connect({ url, WebSocket }: SocketEndpoint, payload: Credentials, onClosed: () => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const wire = new WebSocket(url(), 'graphql-transport-ws')
    const subscriptions = new Map<string, Subscription>()
    const send = (message: object) => {
      if (wire.readyState === OPEN) wire.send(JSON.stringify(message))
    }
    let lastMessageAt = Date.now()

    function end(error: ColloquyError): void {
      if (!socket.isOpen) return
      socket.isOpen = false
      clearTimeout(connecting)
      clearInterval(pinging)
      onClosed()
      reject(error)
      for (const subscription of subscriptions.values()) {
        subscription.ended ??= error
        subscription.wake()
      }
      wire.onopen = wire.onmessage = wire.onclose = null
      wire.onerror = () => {}
      wire.close(1000)
    }
    const socket: Socket = { send, subscriptions, isOpen: true, close: () => end(networkError()) }
    const connecting = setTimeout(() => end(networkError(new Error('no answer'))), CONNECT_MS)
    const pinging = setInterval(() => {
      const silentFor = Date.now() - lastMessageAt
      if (silentFor >= 2 * PING_MS) end(networkError(new Error('no answer')))
      else if (silentFor >= PING_MS) send({ type: 'ping' })
    }, PING_MS / 2)

    wire.onopen = () => send({ type: 'connection_init', payload })
    wire.onclose = (event: { code: number; reason: string }) => end(errorOfClose(event))
    wire.onerror = (event: { error?: unknown }) => end(networkError(event.error))
    wire.onmessage = ({ data }: { data: string }) => {
      lastMessageAt = Date.now()
      const message = JSON.parse(data) as { type: string; id?: string; payload?: any }
      if (message.type === 'connection_ack') {
        clearTimeout(connecting)
        return resolve(socket)
      }
      if (message.type === 'ping') return send({ type: 'pong' })
      const subscription = subscriptions.get(message.id ?? '')
      if (subscription) deliver(subscription, message.type, message.payload, data.length)
    }
  })
}

/**
 * Queues a message for a subscription. Ends the subscription with a NETWORK error if its results exceed MAX_WAITING;
 * the caller then resumes it.
 */
function deliver(subscription: Subscription, type: string, payload: any, length: number): void {
  if (subscription.ended !== undefined) return
  if (type === 'next') {
    subscription.waiting.push({ payload, length })
    subscription.length += length
    if (subscription.length > MAX_WAITING) subscription.ended = new ColloquyError('NETWORK', TOO_SLOW)
  } else if (type === 'error') subscription.ended = errorOfResult(payload as GraphQLErrors)
  else if (type === 'complete') subscription.ended = null
  subscription.wake()
}

/** Yields the results of one subscription on the socket. */
async function* resultsOf(
  { send, subscriptions, isOpen }: Socket,
  id: string,
  operation: Operation,
  signal?: AbortSignal | null,
): AsyncGenerator<Result, void> {
  const ended = isOpen ? undefined : networkError()
  const subscription: Subscription = { waiting: [], length: 0, ended, wake: () => {} }
  const { waiting } = subscription
  const stop = () => {
    waiting.length = 0
    subscription.ended ??= null
    subscription.wake()
  }
  signal?.addEventListener('abort', stop)
  subscriptions.set(id, subscription)
  send({ id, type: 'subscribe', payload: operation })
  try {
    for (;;) {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        subscription.length -= next.length
        yield next.payload
      }
      if (subscription.ended) throw subscription.ended
      if (subscription.ended === null) return
      await new Promise<void>((resolve) => (subscription.wake = resolve))
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    subscriptions.delete(id)
    send({ id, type: 'complete' })
  }
}

/** A client of graphql-ws or graphql-sse. */
type Subscribing = { subscribe(request: any, sink: any, ...rest: any[]): () => void }

/**
 * Returns a copy of the client whose subscriptions to `conversationEvents` resume after the last entry they received.
 * The subscriptions must have a variable `afterSeq`, and select `seq` and `... on Gap { resumeAfterSeq }` without
 * aliases.
 */
export const resuming = <C extends Subscribing>(client: C): C => ({
  ...client,
  subscribe(request: any, sink: any, ...rest: any[]) {
    let last = request.variables?.afterSeq
    const variables = {
      ...request.variables,
      // The clients read the variables whenever they subscribe.
      get afterSeq() {
        return last
      },
    }
    return client.subscribe(
      { ...request, variables },
      {
        next(result: any) {
          const event = result.data?.conversationEvents
          last = event?.seq ?? event?.resumeAfterSeq ?? last
          sink.next(result)
        },
        error: (reason: unknown) => sink.error(reason),
        complete: () => sink.complete(),
      },
      ...rest,
    )
  },
})
