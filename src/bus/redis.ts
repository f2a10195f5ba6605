// The bus across processes, on Redis pub/sub, opened together with the presence store and the rate limit on Redis.
// Subscribes in Redis to exactly the topics that have subscribers in this process, and updates these subscriptions after
// every change and reconnect. memory.ts delivers to the subscribers. Imported only if Redis is used, because its client is
// more than a quarter of all modules that the server would load.

import type { Logger } from 'pino'
import { ErrorReply } from 'redis'
import type { Bus } from './bus.ts'
import type { Clock } from '../runtime/clock.ts'
import { createTally, type Tally } from '../runtime/limits/tally.ts'
import { createMemoryBus } from './memory.ts'
import {
  disconnect,
  redisConnector,
  withReplyTimeout,
  type RedisClient,
  type RedisConnect,
  type RedisLog,
} from './redis-client.ts'
import { createRedisPresence } from './redis-presence.ts'
import { createRedisRateLimit } from './redis-rate-limit.ts'

const PREFIX = 'colloquy:'
/** Maximum number of published characters that Redis has not confirmed yet. Above this limit, messages are dropped. */
const UNCONFIRMED_LIMIT = 32 * 1024 * 1024
/** Characters added to the length of each message: about the memory that node-redis allocates for a command. */
const COMMAND_OVERHEAD = 256

type Refusal = { log(err: unknown): void; reset(): void }

/**
 * Logs the first error reply from Redis since the last reset, such as a refusal by an ACL. redis-client.ts logs lost
 * connections.
 */
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

/** Makes the channels to which `subscriber` is subscribed equal to the keys of `wanted`. */
function createAlignment(
  subscriber: RedisClient,
  wanted: Pick<Tally, 'of' | 'keys'>,
  receive: (message: string, channel: string) => void,
) {
  /** Channels to align in the next round. */
  const changed = new Set<string>()
  const subscribed = () => subscriber.getPubSubListeners('CHANNELS')

  // Run one round at a time: node-redis loses a SUBSCRIBE sent while an UNSUBSCRIBE is pending, and vice versa.
  let lastRound: Promise<void> = Promise.resolve()
  let nextRound: Promise<void> | undefined

  async function round(): Promise<void> {
    nextRound = undefined
    const batch = [...changed]
    changed.clear()
    // alignAll() aligns every channel after a reconnect.
    if (!subscriber.isReady) return
    const missing = batch.filter((channel) => wanted.of(channel) > 0 && !subscribed().has(channel))
    const unwanted = batch.filter((channel) => wanted.of(channel) === 0 && subscribed().has(channel))
    await subscriber.unsubscribe(unwanted, receive)
    await subscriber.subscribe(missing, receive)
  }

  /** Resolves when a round that began after this call is complete. All calls made before that round share it. */
  const align = (channels: Iterable<string>): Promise<void> => {
    for (const channel of channels) changed.add(channel)
    nextRound ??= lastRound = lastRound.catch(() => {}).then(round)
    return nextRound
  }
  return { align, alignAll: () => align([...wanted.keys(), ...subscribed().keys()]) }
}

/** Records that messages may have been lost, and calls the callbacks when all clients are ready again. */
function createRestoration(clients: readonly RedisClient[], log: RedisLog) {
  const callbacks = new Set<() => void>()
  const isReady = () => clients.every((client) => client.isReady)
  /** Whether messages may have been lost since the last call of the callbacks. */
  let missed = !isReady()
  return {
    callbacks,
    miss() {
      missed = true
    },
    /** Calls the callbacks if messages may have been lost and all clients are ready. */
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

/** Returns the function `publish`, which drops messages while disconnected or above UNCONFIRMED_LIMIT. */
function createPublish(publisher: RedisClient, refusal: Refusal): Bus['publish'] {
  let unconfirmed = 0
  return (topic, message) => {
    if (!publisher.isReady || unconfirmed > UNCONFIRMED_LIMIT) return
    const size = COMMAND_OVERHEAD + message.length
    unconfirmed += size
    publisher
      .publish(PREFIX + topic, message)
      .catch(refusal.log)
      .finally(() => {
        unconfirmed -= size
      })
  }
}

/** @throws ErrorReply from `subscribe` if Redis refuses the subscription, for example by an ACL */
export async function createRedisBus(connect: RedisConnect, log: RedisLog): Promise<Bus> {
  const local = createMemoryBus((err) => log.error({ err }, 'a receiver of the bus failed'))
  const [publisher, subscriber] = await Promise.all([connect(), connect()])
  const clients = [publisher, subscriber]

  /** The subscribers in this process, by channel. */
  const subscribers = createTally()
  const receiveMessage = (message: string, channel: string) => local.publish(channel.slice(PREFIX.length), message)
  const { align, alignAll } = createAlignment(subscriber, subscribers, receiveMessage)
  const refusal = refusalLog(log)
  const restoration = createRestoration(clients, log)

  for (const client of clients) {
    client.on('error', restoration.miss)
    // After a reconnect, node-redis restores the subscriptions from before the outage; alignAll() applies changes
    // since.
    client.on('ready', () => {
      refusal.reset()
      alignAll().then(restoration.announce, refusal.log)
    })
  }

  return {
    publish: createPublish(publisher, refusal),
    async subscribe(topic, receive) {
      const channel = PREFIX + topic
      subscribers.add(channel, 1)
      const endLocal = await local.subscribe(topic, receive)
      let ended = false
      const end = async () => {
        if (ended) return
        ended = true
        await endLocal()
        subscribers.add(channel, -1)
        if (subscribers.of(channel) > 0) return
        // If the connection breaks now, alignAll() unsubscribes after the reconnect.
        await align([channel]).catch(refusal.log)
      }
      try {
        await align([channel])
      } catch (error) {
        // Not an error if the connection is lost: alignAll() subscribes after the reconnect.
        if (error instanceof ErrorReply) {
          await end()
          throw error
        }
      }
      return end
    },
    onRestored(callback) {
      // Wrap the callback, so that a callback registered twice is called twice.
      const registered = () => callback()
      restoration.callbacks.add(registered)
      return () => void restoration.callbacks.delete(registered)
    },
    async ping() {
      await withReplyTimeout(Promise.all([publisher.ping(), subscriber.ping()]))
    },
    async close() {
      restoration.callbacks.clear()
      await local.close()
      await Promise.all([disconnect(publisher), disconnect(subscriber)])
    },
  }
}

/**
 * Opens the bus, the presence store and the rate limit.
 * @param rateLimitPoints points that each viewer may take per period; 0 for no limit
 */
export async function openRedis(redisUrl: string, rateLimitPoints: number, clock: Clock, log: Logger) {
  const connect = redisConnector(redisUrl, log)
  // Connect concurrently: if Redis cannot be reached, each waits up to FIRST_CONNECT_MS (redis-client.ts).
  const [bus, presence, rates] = await Promise.all([
    createRedisBus(connect, log),
    createRedisPresence(connect),
    rateLimitPoints === 0 ? null : createRedisRateLimit(connect, rateLimitPoints, clock),
  ])
  return { bus, presence, rates }
}
