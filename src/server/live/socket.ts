// One WebSocket: passes the client's messages to protocol.ts, and limits their rate and the bytes that wait to be sent.
// Stops reading from a client that does not read its answers.

import type { Duplex } from 'node:stream'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import type { WebSocket } from 'ws'
import { every, type Clock } from '../../runtime/clock.ts'
import { counters, refused } from '../../runtime/counters.ts'
import type { Deps } from '../../domain/deps.ts'
import { createPresenceHolder, type PresenceHolder } from '../../domain/conversation/presence.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { createBucket } from '../../runtime/limits/bucket.ts'
import { WEBSOCKET } from './frame.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { closeReason, createProtocol, type Handlers } from './protocol.ts'

/** Interval of pings, and time within which the client must respond to a ping, ms. */
const PING_INTERVAL_MS = 12_000
/** Maximum number of messages per second that one socket may send on average. */
const MESSAGES_PER_SECOND = 500
/** Number of messages that one socket may send at once after a pause. @internal */
export const MESSAGE_BURST = 10 * MESSAGES_PER_SECOND
/** Close code of a socket over a limit, like status 429 of HTTP. */
export const TOO_MANY_REQUESTS = 4429

/** The state of one socket. A client has connected when its `connection_init` was accepted. */
export type Extra = {
  /** The connection. */
  socket: Duplex
  outbox: Outbox
  /** Owner of the presence that operations of this socket set. */
  holder: PresenceHolder
  /** Null until the client has connected. */
  viewer: Viewer | null
  /** Whether the socket is closed. */
  isGone(): boolean
  /** Stops counting the socket as unconnected. Called when the client has connected, and when the socket is closed. */
  leaveUnconnected(): void
  /** Stops counting the socket for its viewer. Called when the socket is closed. */
  leaveViewer(): void
  /** Stops watching the socket's token. Called when the socket is closed, and when another token replaces it. */
  stopWatching(): void
  /** Ends the operations of the socket, sends the waiting messages, and closes the socket. */
  close(code: number, reason: string): void
}

/** Creates the state of a socket whose client has not connected. */
const createExtra = (deps: Deps, given: Pick<Extra, 'socket' | 'outbox' | 'leaveUnconnected' | 'close'>): Extra => ({
  ...given,
  holder: createPresenceHolder(deps),
  viewer: null,
  isGone: () => given.socket.destroyed,
  leaveViewer: () => {},
  stopWatching: () => {},
})

/**
 * An accepted WebSocket, and the connection below it. `leaveUnconnected` is called when the client has connected, and
 * when the socket is closed.
 */
type Accepted = { client: WebSocket; socket: Duplex; leaveUnconnected: () => void }

/**
 * Serves a WebSocket until it is closed.
 * @param handlersOf returns the functions that handle the messages
 */
export function openSocket(
  deps: Deps,
  { client, socket, leaveUnconnected }: Accepted,
  handlersOf: (extra: Extra) => Handlers,
): void {
  const outbox = createOutbox(socket, WEBSOCKET)
  let hasFailed = false
  counters.webSockets += 1
  function closeWith(code: number, reason: string): void {
    refused(`WS_${code}`)
    client.close(code, reason)
  }
  /** Closes the socket and logs the reason. Further calls do nothing. */
  function refuse(reason: string): void {
    if (hasFailed) return
    hasFailed = true
    deps.log.warn({ viewer: extra.viewer, reason }, 'closed a WebSocket')
    closeWith(TOO_MANY_REQUESTS, reason)
  }
  function end(code: number, reason: string): void {
    hasFailed = true
    protocol.closed()
    // Messages that were added before the token ended are sent before the socket is closed.
    outbox.flush()
    closeWith(code, closeReason(reason))
  }
  const extra = createExtra(deps, { socket, outbox, leaveUnconnected, close: end })
  const messages = createBucket({ tokens: MESSAGE_BURST, fillMs: (1000 * MESSAGE_BURST) / MESSAGES_PER_SECOND })

  /** Stops reading from the client until its outbox is no longer full. */
  function pauseWhileBlocked(): void {
    if (!outbox.isBlocked() || client.isPaused || client.readyState !== client.OPEN) return
    client.pause()
    void outbox.drained().then(() => client.resume())
  }

  const protocol = createProtocol(
    {
      // Flush first, so that the message is sent after the frames that are already in the outbox.
      send(data) {
        outbox.flush()
        if (client.readyState !== client.OPEN) return Promise.resolve()
        if (outbox.isOverflowing()) {
          refuse('The client does not read the answers.')
          client.terminate()
          return Promise.resolve()
        }
        return new Promise((resolve) => {
          // A failed write closes the socket, so the error is not reported again here.
          client.send(data, () => resolve())
          pauseWhileBlocked()
        })
      },
      close: closeWith,
    },
    handlersOf(extra),
    deps.clock,
  )
  if (client.protocol !== GRAPHQL_TRANSPORT_WS_PROTOCOL) {
    hasFailed = true
    closeWith(CloseCode.SubprotocolNotAcceptable, `Use the subprotocol ${GRAPHQL_TRANSPORT_WS_PROTOCOL}.`)
  }
  client.on('message', (data) => {
    if (hasFailed) return
    if (!messages.take(deps.clock.performance.now())) {
      return refuse(`Too many messages: at most ${MESSAGES_PER_SECOND} per second.`)
    }
    protocol.receive(String(data)).catch((error: unknown) => {
      if (hasFailed) return
      hasFailed = true
      deps.log.error({ err: error }, 'handling a WebSocket message failed')
      closeWith(CloseCode.InternalServerError, 'Internal server error')
    })
  })
  const stopPinging = keepAlive(client, deps.clock)
  // After an invalid or too large frame, ws closes the socket with the right code.
  client.on('error', (error) => deps.log.debug({ err: error }, 'a WebSocket failed'))
  client.once('close', () => {
    counters.webSockets -= 1
    stopPinging()
    extra.leaveUnconnected()
    extra.leaveViewer()
    extra.stopWatching()
    protocol.closed()
    void extra.holder.end()
  })
}

/**
 * Terminates the socket when the client no longer responds to pings. Returns a function that stops the pings. The pongs
 * of a paused client cannot be read, so it is not terminated here; unread-data.ts closes it if it does not read.
 */
function keepAlive(client: WebSocket, clock: Clock): () => void {
  let alive = true
  client.on('pong', () => (alive = true))
  const stop = every(clock, PING_INTERVAL_MS, () => {
    if (client.isPaused) return void (alive = true)
    if (!alive) return client.terminate()
    alive = false
    if (client.readyState === client.OPEN) client.ping()
  })
  return () => void stop()
}
