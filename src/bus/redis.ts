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

/** While Redis is disconnected, subscribe resolves at once; its messages arrive after onRestored. */
export async function createRedisBus(url: string, log: RedisLog): Promise<Bus> {
  const local = createMemoryBus((err) => log.error({ err }, 'a receiver of the bus failed'))
  const connect = redisConnector(url, 'bus', log)
  const [publisher, subscriber] = await Promise.all([connect(), connect()])

  /** Number of listeners in this process, by channel; at least 1. */
  const topics = new Map<string, number>()
  /** Channels to be aligned in the next round. */
  const changed = new Set<string>()
  const restored = new Set<() => void>()
  let unconfirmed = 0
  /** Whether messages may have been lost since `restored` was last called. */
  let missed = !publisher.isReady || !subscriber.isReady
  /** Whether a refusal by Redis was logged since the last reconnect. */
  let refused = false

  const hear = (message: string, channel: string) => local.publish(channel.slice(PREFIX.length), message)
  const held = () => subscriber.getPubSubListeners('CHANNELS')

  // One round at a time: node-redis loses a SUBSCRIBE sent while an UNSUBSCRIBE is pending, and the reverse.
  let lastRound: Promise<void> = Promise.resolve()
  let nextRound: Promise<void> | undefined

  /** Resolves when a round that began after this call is complete. Waiting calls share a round. */
  const align = (): Promise<void> => {
    nextRound ??= lastRound = lastRound.catch(() => {}).then(round)
    return nextRound
  }

  async function round(): Promise<void> {
    nextRound = undefined
    const batch = [...changed]
    changed.clear()
    // restore() aligns every channel after a reconnect.
    if (!subscriber.isReady) return
    const missing = batch.filter((channel) => topics.has(channel) && !held().has(channel))
    const spare = batch.filter((channel) => !topics.has(channel) && held().has(channel))
    await subscriber.unsubscribe(spare, hear)
    await subscriber.subscribe(missing, hear)
  }

  /** Announces the end of an outage, when both connections are ready and Redis has all topics. */
  const announce = () => {
    if (!missed || !publisher.isReady || !subscriber.isReady) return
    missed = false
    for (const callback of [...restored]) {
      try {
        callback()
      } catch (err) {
        log.error({ err }, 'a callback of the bus failed')
      }
    }
  }

  /** Node-redis restores its old subscriptions after a reconnect; this applies the changes since then. */
  const restore = () => {
    refused = false
    for (const channel of [...topics.keys(), ...held().keys()]) changed.add(channel)
    align().then(announce, refusal)
  }

  /** Logs a refusal by Redis, for example by an ACL. Lost connections are logged elsewhere and reconnect. */
  const refusal = (err: unknown) => {
    if (refused || !(err instanceof ErrorReply)) return
    refused = true
    log.error({ err }, 'Redis refused a command of the bus')
  }

  for (const client of [publisher, subscriber]) {
    client.on('error', () => {
      missed = true
    })
    client.on('ready', restore)
  }

  return {
    publish(topic, message) {
      if (!publisher.isReady || unconfirmed > UNCONFIRMED_LIMIT) return
      const weight = UNCONFIRMED_LEAST + message.length
      unconfirmed += weight
      publisher
        .publish(PREFIX + topic, message)
        .catch(refusal)
        .finally(() => {
          unconfirmed -= weight
        })
    },
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
        changed.add(channel)
        // If the connection breaks now, restore() repeats this.
        await align().catch(refusal)
      }
      try {
        changed.add(channel)
        await align()
      } catch (error) {
        // A lost connection is no failure: restore() subscribes again.
        if (error instanceof ErrorReply) {
          await end()
          throw error
        }
      }
      return end
    },
    onRestored(callback) {
      const own = () => callback()
      restored.add(own)
      return () => void restored.delete(own)
    },
    async ping() {
      await answered(Promise.all([publisher.ping(), subscriber.ping()]))
    },
    async close() {
      restored.clear()
      topics.clear()
      await local.close()
      await Promise.all([hangUp(publisher), hangUp(subscriber)])
    },
  }
}
