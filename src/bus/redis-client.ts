// Connections to Redis. They reconnect indefinitely and queue no commands: a broken connection rejects a command at
// once, so no caller waits for an outage to end and memory does not grow. A connection that stops replying is replaced.

import { createClient, ErrorReply } from 'redis'

export type RedisLog = Record<'info' | 'warn' | 'error', (details: object, message: string) => void>
type RedisClient = ReturnType<typeof open>

/** Default time limit of a reply, ms. */
const REPLY_MS = 1_500
/** Interval of pings, ms. A ping fails shortly before the next one. TCP alone detects a dead peer after minutes. */
const HEARTBEAT_MS = 4_000
/** Idle time after which a socket is closed, ms. Pings keep it open, but are not sent during the handshake. */
const IDLE_MS = 10_000
/** Maximum time that a starting process waits for Redis, ms. It then starts without Redis. */
const FIRST_CONNECT_MS = 5_000

/** Delay before an attempt to reconnect, ms: 50, doubling up to 2,000, with up to half of it removed at random. */
const backoff = (retries: number) => Math.min(2_000, 50 * 2 ** retries) * (1 - Math.random() / 2)

const open = (url: string) =>
  createClient({
    url,
    socket: { reconnectStrategy: backoff, socketTimeout: IDLE_MS },
    disableOfflineQueue: true,
    // Without this, node-redis starts a timer for each command. withReplyTimeout() limits the replies that callers wait
    // for.
    commandOptions: { timeout: 0 },
    maintNotifications: 'disabled',
  })

/** Returns the reply. Rejects after `ms` milliseconds, because a stopped Redis never replies. */
export async function withReplyTimeout<T>(reply: Promise<T>, ms = REPLY_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error(`Redis did not answer within ${ms} ms.`))
    // Reads the socket once more first, because this process may have been too busy to read the reply.
    timer = setTimeout(() => setImmediate(fail), ms)
  })
  return Promise.race([reply, timeout]).finally(() => clearTimeout(timer))
}

/**
 * Returns a function that opens a connection. It resolves with a ready client or, if Redis cannot be reached within
 * FIRST_CONNECT_MS, with a client that keeps reconnecting. The connections of one connector log each outage once, and
 * its end once; `purpose` names them in the log.
 */
export function redisConnector(url: string, purpose: string, log: RedisLog): () => Promise<RedisClient> {
  const disconnected = new Set<RedisClient>()

  return async () => {
    const client = open(url)
    client.on('error', (err: Error) => {
      if (!client.isOpen) return
      if (disconnected.size === 0) log.warn({ err, purpose }, 'Redis cannot be reached; reconnecting')
      disconnected.add(client)
    })
    client.on('ready', () => {
      // If the client was closed during an attempt, node-redis still finishes the attempt and would keep the socket.
      if (!client.isOpen) return client.destroy()
      if (disconnected.delete(client) && disconnected.size === 0) log.info({ purpose }, 'Redis is connected again')
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
    const error = await withReplyTimeout(client.ping(), HEARTBEAT_MS - 100).then(
      () => undefined,
      (error: Error) => error,
    )
    // An error reply shows that Redis responds. A connection that broke during the ping is already reconnecting.
    if (!error || error instanceof ErrorReply || !client.isReady) return
    client.emit('error', error)
    client.destroy()
    client.connect().catch(() => {})
  }
  const timer = setInterval(() => {
    if (client.isOpen) void check()
    else clearInterval(timer)
  }, HEARTBEAT_MS)
  timer.unref()
}

/** Closes the connection after waiting up to REPLY_MS for pending replies. Closing twice does nothing. */
export async function disconnect(client: RedisClient): Promise<void> {
  if (client.isOpen) await withReplyTimeout(client.close()).catch(() => {})
  client.destroy()
}
