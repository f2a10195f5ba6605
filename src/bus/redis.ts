// The bus across processes, on Redis pub/sub. This process subscribes in Redis to exactly the topics that have listeners
// here: after every change and reconnect, Redis is aligned with `topics`. memory.ts delivers within the process.

import { ErrorReply } from 'redis'
import type { Bus } from './bus.ts'
import { createMemoryBus } from './memory.ts'
import { answered, hangUp, type RedisLog, redisConnector } from './redis-client.ts'

const PREFIX = 'colloquy:'
/** Characters sent and not yet confirmed. Above this limit, messages are dropped. */
const UNCONFIRMED_LIMIT = 32 * 1024 * 1024
/** Characters that each message counts for in addition: about what node-redis allocates for a command. */
const UNCONFIRMED_LEAST = 256

type RedisClient = Awaited<ReturnType<ReturnType<typeof redisConnector>>>
type Refusal = { log(err: unknown): void; reset(): void }

/** Logs the first refusal by Redis since the last reset, for example by an ACL. Lost connections are logged elsewhere. */
function refusalLog(log: RedisLog): Refusal {
  let refused = false
  return {
    log(err) {
      if (refused || !(err instanceof ErrorReply)) return
      refused = true
      log.error({ err }, 'Redis refused a command of the bus')
    },
    reset() {
      refused = false
    },
  }
}

/** Makes the channels to which `subscriber` is subscribed equal to `wanted`. */
function createAlignment(
  subscriber: RedisClient,
  wanted: ReadonlyMap<string, number>,
  receive: (message: string, channel: string) => void,
) {
  /** Channels to be aligned in the next round. */
  const changed = new Set<string>()
  const subscribed = () => subscriber.getPubSubListeners('CHANNELS')

  // One round at a time: node-redis loses a SUBSCRIBE sent while an UNSUBSCRIBE is pending, and the reverse.
  let lastRound: Promise<void> = Promise.resolve()
  let nextRound: Promise<void> | undefined

  async function round(): Promise<void> {
    nextRound = undefined
    const batch = [...changed]
    changed.clear()
    // alignAll() aligns every channel after a reconnect.
    if (!subscriber.isReady) return
    const missing = batch.filter((channel) => wanted.has(channel) && !subscribed().has(channel))
    const spare = batch.filter((channel) => !wanted.has(channel) && subscribed().has(channel))
    await subscriber.unsubscribe(spare, receive)
    await subscriber.subscribe(missing, receive)
  }

  /** Resolves when a round that began after this call is complete. Waiting calls share a round. */
  const align = (channels: Iterable<string>): Promise<void> => {
    for (const channel of channels) changed.add(channel)
    nextRound ??= lastRound = lastRound.catch(() => {}).then(round)
    return nextRound
  }
  return { align, alignAll: () => align([...wanted.keys(), ...subscribed().keys()]) }
}

/** Detects outages of either connection, and calls back at the end of each. */
function createRestoration(clients: readonly RedisClient[], log: RedisLog) {
  const callbacks = new Set<() => void>()
  const isReady = () => clients.every((client) => client.isReady)
  /** Whether messages may have been lost since the last announcement. */
  let missed = !isReady()
  return {
    callbacks,
    miss() {
      missed = true
    },
    /** Calls back if messages may have been lost and both connections are ready again. */
    announce() {
      if (!missed || !isReady()) return
      missed = false
      for (const callback of [...callbacks]) {
        try {
          callback()
        } catch (err) {
          log.error({ err }, 'a callback of the bus failed')
        }
      }
    },
  }
}

/** A function that publishes; it drops messages while disconnected, or above UNCONFIRMED_LIMIT. */
function createPublish(publisher: RedisClient, refusal: Refusal): Bus['publish'] {
  let unconfirmed = 0
  return (topic, message) => {
    if (!publisher.isReady || unconfirmed > UNCONFIRMED_LIMIT) return
    const weight = UNCONFIRMED_LEAST + message.length
    unconfirmed += weight
    publisher
      .publish(PREFIX + topic, message)
      .catch(refusal.log)
      .finally(() => {
        unconfirmed -= weight
      })
  }
}

/** While Redis is disconnected, subscribe resolves at once; its messages arrive after onRestored. */
export async function createRedisBus(url: string, log: RedisLog): Promise<Bus> {
  const local = createMemoryBus((err) => log.error({ err }, 'a receiver of the bus failed'))
  const connect = redisConnector(url, 'bus', log)
  const [publisher, subscriber] = await Promise.all([connect(), connect()])
  const clients = [publisher, subscriber]

  /** Number of listeners in this process, by channel; at least 1. */
  const topics = new Map<string, number>()
  const receiveMessage = (message: string, channel: string) => local.publish(channel.slice(PREFIX.length), message)
  const { align, alignAll } = createAlignment(subscriber, topics, receiveMessage)
  const refusal = refusalLog(log)
  const restoration = createRestoration(clients, log)

  for (const client of clients) {
    client.on('error', restoration.miss)
    // Node-redis restores its old subscriptions after a reconnect; this applies the changes since then.
    client.on('ready', () => {
      refusal.reset()
      alignAll().then(restoration.announce, refusal.log)
    })
  }

  return {
    publish: createPublish(publisher, refusal),
    async subscribe(topic, receive) {
      const channel = PREFIX + topic
      topics.set(channel, (topics.get(channel) ?? 0) + 1)
      const endLocal = await local.subscribe(topic, receive)
      let ended = false
      const end = async () => {
        if (ended) return
        ended = true
        await endLocal()
        const others = (topics.get(channel) ?? 1) - 1
        if (others > 0) return void topics.set(channel, others)
        topics.delete(channel)
        // If the connection breaks now, alignAll() repeats this after the reconnect.
        await align([channel]).catch(refusal.log)
      }
      try {
        await align([channel])
      } catch (error) {
        // A lost connection is no failure: alignAll() subscribes again.
        if (error instanceof ErrorReply) {
          await end()
          throw error
        }
      }
      return end
    },
    onRestored(callback) {
      const own = () => callback()
      restoration.callbacks.add(own)
      return () => void restoration.callbacks.delete(own)
    },
    async ping() {
      await answered(Promise.all([publisher.ping(), subscriber.ping()]))
    },
    async close() {
      restoration.callbacks.clear()
      topics.clear()
      await local.close()
      await Promise.all([hangUp(publisher), hangUp(subscriber)])
    },
  }
}
