// Connections to Redis: they reconnect for ever and queue nothing. A broken connection rejects commands at once, so no
// caller waits for an outage to end and memory does not grow; a silent connection is replaced.

import { createClient, ErrorReply } from 'redis'

export type RedisLog = Record<'info' | 'warn' | 'error', (details: object, message: string) => void>
type RedisClient = ReturnType<typeof open>

/** Time a caller waits for a reply, ms. */
const ANSWER_MS = 1_500
/** Interval of pings, and time each may take, ms. TCP alone notices a dead peer after minutes. */
const HEARTBEAT_MS = 4_000
/** Idle time after which a socket is closed, ms. Pings keep it open; an unanswered handshake has none. */
const IDLE_MS = 10_000
/** Time after which a process starts without Redis, ms. */
const FIRST_CONNECT_MS = 5_000

/** Delay between attempts: 50 ms, doubling up to 2 s, with up to half of it removed at random. */
const backoff = (retries: number) => Math.min(2_000, 50 * 2 ** retries) * (1 - Math.random() / 2)

const open = (url: string) =>
  createClient({
    url,
    socket: { reconnectStrategy: backoff, socketTimeout: IDLE_MS },
    disableOfflineQueue: true,
    // Node-redis would start a timer for each command; answered() times the replies that matter.
    commandOptions: { timeout: 0 },
    maintNotifications: 'disabled',
  })

/** The reply, or an error after `ms`: a stopped Redis never replies. */
export async function answered<T>(reply: Promise<T>, ms = ANSWER_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new Error(`Redis did not answer within ${ms} ms.`))
    // Read the socket once more first: this process may have been the busy one.
    timer = setTimeout(() => setImmediate(giveUp), ms)
  })
  return Promise.race([reply, late]).finally(() => clearTimeout(timer))
}

/**
 * Returns a function that opens connections for one purpose. Together they log each outage once, and its end once.
 * It resolves with a ready client, or, if Redis cannot be reached, after 5 s with a client that keeps trying.
 */
export function redisConnector(url: string, purpose: string, log: RedisLog): () => Promise<RedisClient> {
  const away = new Set<RedisClient>()

  return async () => {
    const client = open(url)
    client.on('error', (err: Error) => {
      if (!client.isOpen) return
      if (away.size === 0) log.warn({ err, purpose }, 'Redis cannot be reached; reconnecting')
      away.add(client)
    })
    client.on('ready', () => {
      // Closed during an attempt: node-redis finishes the attempt and would keep the socket.
      if (!client.isOpen) return client.destroy()
      if (away.delete(client) && away.size === 0) log.info({ purpose }, 'Redis is connected again')
    })
    await answered(client.connect(), FIRST_CONNECT_MS).catch(() => {})
    watch(client)
    return client
  }
}

/** Replaces a connection that no longer replies; its pending commands are rejected. */
function watch(client: RedisClient): void {
  const look = async () => {
    if (!client.isReady) return
    const error = await answered(client.ping(), HEARTBEAT_MS - 100).then(
      () => undefined,
      (error: Error) => error,
    )
    // An error reply is a reply; and a connection that broke in the meantime is already reconnecting.
    if (!error || error instanceof ErrorReply || !client.isReady) return
    client.emit('error', error)
    client.destroy()
    client.connect().catch(() => {})
  }
  const timer = setInterval(() => {
    if (client.isOpen) void look()
    else clearInterval(timer)
  }, HEARTBEAT_MS)
  timer.unref()
}

/** Closes the connection after a short wait for pending replies. Closing twice does nothing. */
export async function hangUp(client: RedisClient): Promise<void> {
  if (client.isOpen) await answered(client.close()).catch(() => {})
  client.destroy()
}
