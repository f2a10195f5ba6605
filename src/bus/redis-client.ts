// How we connect to Redis: for ever, and without queues. A connection that is away refuses at once, so nobody above
// waits for an outage to end and nothing piles up in memory meanwhile; one that is silent is taken for dead.

import { createClient, ErrorReply } from 'redis'

export type RedisLog = Record<'info' | 'warn' | 'error', (details: object, message: string) => void>
type RedisClient = ReturnType<typeof open>

/** A caller waits this long for an answer. */
const ANSWER_MS = 1_500
/** A connection is asked this often whether it lives, and has as long to say so. TCP alone notices after minutes. */
const HEARTBEAT_MS = 4_000
/** A socket without traffic ends after this long. Heartbeats keep one alive; an unanswered handshake is without. */
const IDLE_MS = 10_000
/** A process starts without Redis after this long. */
const FIRST_CONNECT_MS = 5_000

/** 50 ms, 100 ms … 2 s between attempts, less up to half by chance, so that many processes do not knock as one. */
const backoff = (retries: number) => Math.min(2_000, 50 * 2 ** retries) * (1 - Math.random() / 2)

const open = (url: string) =>
  createClient({
    url,
    socket: { reconnectStrategy: backoff, socketTimeout: IDLE_MS },
    disableOfflineQueue: true,
    // Node-redis times what waits to be sent, by a timer a command; answered() times the answer, where it matters.
    commandOptions: { timeout: 0 },
    maintNotifications: 'disabled',
  })

/** The reply, or an error after `ms`: a stopped Redis leaves commands without an answer. */
export async function answered<T>(reply: Promise<T>, ms = ANSWER_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new Error(`Redis did not answer within ${ms} ms.`))
    // After one more look at the socket: it may be we who were busy.
    timer = setTimeout(() => setImmediate(giveUp), ms)
  })
  return Promise.race([reply, late]).finally(() => clearTimeout(timer))
}

/**
 * A function that opens connections for one purpose. Together they log an outage once, and once that it is over.
 * It resolves with a ready client; or, if Redis is away, after 5 s with one that goes on trying.
 */
export function redisConnector(url: string, purpose: string, log: RedisLog): () => Promise<RedisClient> {
  const away = new Set<RedisClient>()

  return async () => {
    const client = open(url)
    client.on('error', (err: Error) => {
      if (!client.isOpen) return
      if (away.size === 0) log.warn({ err, purpose }, 'Redis is away; trying again until it is back')
      away.add(client)
    })
    client.on('ready', () => {
      // Closed in the middle of an attempt: node-redis finishes the attempt and would keep the socket.
      if (!client.isOpen) return client.destroy()
      if (away.delete(client) && away.size === 0) log.info({ purpose }, 'Redis is back')
    })
    await answered(client.connect(), FIRST_CONNECT_MS).catch(() => {})
    watch(client)
    return client
  }
}

/** Drops a connection that no longer answers; its commands are rejected, and it is made anew. */
function watch(client: RedisClient): void {
  const look = async () => {
    if (!client.isReady) return
    const error = await answered(client.ping(), HEARTBEAT_MS - 100).then(
      () => undefined,
      (error: Error) => error,
    )
    // A refusal is an answer too; and a connection that broke meanwhile is being made anew already.
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

/** Waits for the answers under way, but not for long. Closing twice is harmless. */
export async function hangUp(client: RedisClient): Promise<void> {
  if (client.isOpen) await answered(client.close()).catch(() => {})
  client.destroy()
}
