// Connections to Redis. They reconnect indefinitely and queue no commands: a broken connection rejects a command at
// once, so no caller waits for an outage to end and memory does not grow. A connection that stops replying is replaced.

import { createClient, ErrorReply } from 'redis'
import { backoffMs, every, systemClock } from '../runtime/clock.ts'
import { Unavailable } from '../errors.ts'
import { reasonOf } from '../runtime/log.ts'

export type RedisLog = Record<'info' | 'warn' | 'error', (details: object, message: string) => void>
export type RedisClient = ReturnType<typeof open>
/** Opens a connection. See `redisConnector`. */
export type RedisConnect = () => Promise<RedisClient>

/** Default time limit of a reply, ms. */
const REPLY_MS = 1_500
/** Interval between pings, ms. TCP alone needs minutes to detect a dead peer. */
const HEARTBEAT_MS = 4_000
/** Time limit of the reply to a ping, ms: shortly before the next ping. */
const PING_REPLY_MS = HEARTBEAT_MS - 100
/** Idle time after which a socket is closed, ms. Pings keep it open, except during the handshake, which sends none. */
const IDLE_MS = 10_000
/** Maximum time that a starting process waits for Redis, ms. It then starts without Redis. */
const FIRST_CONNECT_MS = 5_000

/** Delay before an attempt to reconnect. */
const BACKOFF = { firstMs: 50, maxMs: 2_000, jitter: 1 / 2 }

const open = (url: string) =>
  createClient({
    url,
    socket: { reconnectStrategy: (retries) => backoffMs(BACKOFF, retries + 1), socketTimeout: IDLE_MS },
    disableOfflineQueue: true,
    // Without this, node-redis starts a timer for each command. withReplyTimeout() limits the time that callers wait.
    commandOptions: { timeout: 0 },
    maintNotifications: 'disabled',
  })

/**
 * Returns the reply.
 * @throws Unavailable if no reply arrives within `ms` milliseconds or the connection is lost. A stopped Redis never
 * replies.
 * @throws ErrorReply if Redis replies with an error
 */
export async function withReplyTimeout<T>(reply: Promise<T>, ms = REPLY_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    const fail = () => reject(new Unavailable(`Redis did not reply within ${ms} ms. Try again later.`))
    // Read the socket once more first, because this process may have been too busy to read the reply.
    timer = setTimeout(() => setImmediate(fail), ms)
  })
  try {
    return await Promise.race([reply, timeout])
  } catch (error) {
    if (error instanceof ErrorReply || error instanceof Unavailable) throw error
    throw new Unavailable('Redis cannot be reached. Try again later.', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the URL without its credentials and query. */
const addressOf = (url: string) => {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

/**
 * Returns a function that opens a connection. It resolves with a ready client or, if Redis cannot be reached within
 * FIRST_CONNECT_MS, with a client that keeps reconnecting. A process creates one connector, because the connections of
 * a connector together log each outage once, and its end once.
 */
export function redisConnector(url: string, log: Pick<RedisLog, 'info' | 'warn'>): RedisConnect {
  const disconnected = new Set<RedisClient>()
  const redis = addressOf(url)

  return async () => {
    const client = open(url)
    client.on('error', (err: Error) => {
      if (!client.isOpen) return
      // The stack of a network error shows no cause, so log only its message.
      if (disconnected.size === 0) log.warn({ redis, reason: reasonOf(err) }, 'Redis cannot be reached; reconnecting')
      disconnected.add(client)
    })
    client.on('ready', () => {
      // If the client was closed during an attempt, node-redis still finishes the attempt and would keep the socket.
      if (!client.isOpen) return client.destroy()
      if (disconnected.delete(client) && disconnected.size === 0) log.info({ redis }, 'Redis is connected again')
    })
    await withReplyTimeout(client.connect(), FIRST_CONNECT_MS).catch(() => {})
    watch(client)
    return client
  }
}

/** Pings the connection periodically. Replaces it, and rejects its pending commands, if Redis does not reply. */
function watch(client: RedisClient): void {
  const check = async () => {
    if (!client.isReady) return
    const error = await withReplyTimeout(client.ping(), PING_REPLY_MS).then(
      () => undefined,
      (error: Error) => error,
    )
    // An error reply shows that Redis responds. A connection that broke during the ping is already reconnecting.
    if (!error || error instanceof ErrorReply || !client.isReady) return
    client.emit('error', new Error(`no reply to a ping within ${PING_REPLY_MS} ms`))
    client.destroy()
    client.connect().catch(() => {})
  }
  const stop = every(systemClock, HEARTBEAT_MS, () => (client.isOpen ? check() : stop()))
}

/** Closes the connection after waiting up to REPLY_MS for pending replies. Does nothing if it is already closed. */
export async function disconnect(client: RedisClient): Promise<void> {
  if (client.isOpen) await withReplyTimeout(client.close()).catch(() => {})
  client.destroy()
}
