// The bus between processes, on Redis pub/sub. Redis holds exactly the topics that somebody here listens to: after
// every change and every reconnect it is brought in line with `topics`. The fan-out inside the process is memory.ts.

import { ErrorReply } from 'redis'
import type { Bus } from './bus.ts'
import { createMemoryBus } from './memory.ts'
import { answered, hangUp, type RedisLog, redisConnector } from './redis-client.ts'

const PREFIX = 'colloquy:'
/** Characters sent and not yet confirmed. Beyond this Redis is too slow for us, and what comes is lost. */
const UNCONFIRMED_LIMIT = 32 * 1024 * 1024
/** What the smallest message counts for: about what node-redis keeps of a command. */
const UNCONFIRMED_LEAST = 256

/** While Redis is away subscribe resolves at once, into what every subscription is then: silent until onRestored. */
export async function createRedisBus(url: string, log: RedisLog): Promise<Bus> {
  const local = createMemoryBus((err) => log.error({ err }, 'A receiver of the bus failed'))
  const connect = redisConnector(url, 'bus', log)
  const [publisher, subscriber] = await Promise.all([connect(), connect()])

  /** How many listen here, by channel. Never 0. */
  const topics = new Map<string, number>()
  /** Channels that Redis may hold wrongly, until the next round looks at them. */
  const changed = new Set<string>()
  const restored = new Set<() => void>()
  let unconfirmed = 0
  /** Messages may have been lost, and `restored` has not been told. */
  let missed = !publisher.isReady || !subscriber.isReady
  /** It has been logged, since the last reconnect, that Redis said no. */
  let refused = false

  const hear = (message: string, channel: string) => local.publish(channel.slice(PREFIX.length), message)
  const held = () => subscriber.getPubSubListeners('CHANNELS')

  // One round at a time: node-redis forgets a SUBSCRIBE that is made while an UNSUBSCRIBE is under way, or the reverse.
  let lastRound: Promise<void> = Promise.resolve()
  let nextRound: Promise<void> | undefined

  /** Resolves when a round that began after this call is done. Calls that wait for one share it. */
  const align = (): Promise<void> => {
    nextRound ??= lastRound = lastRound.catch(() => {}).then(round)
    return nextRound
  }

  async function round(): Promise<void> {
    nextRound = undefined
    const batch = [...changed]
    changed.clear()
    // On return all is looked at anyway.
    if (!subscriber.isReady) return
    const missing = batch.filter((channel) => topics.has(channel) && !held().has(channel))
    const spare = batch.filter((channel) => !topics.has(channel) && held().has(channel))
    await subscriber.unsubscribe(spare, hear)
    await subscriber.subscribe(missing, hear)
  }

  /** Tells of the end of an outage, once both connections are back and Redis has all topics. */
  const announce = () => {
    if (!missed || !publisher.isReady || !subscriber.isReady) return
    missed = false
    for (const callback of [...restored]) {
      try {
        callback()
      } catch (err) {
        log.error({ err }, 'A callback of the bus failed')
      }
    }
  }

  /** Node-redis subscribes again to what it held; this adds what came and drops what went meanwhile. */
  const restore = () => {
    refused = false
    for (const channel of [...topics.keys(), ...held().keys()]) changed.add(channel)
    align().then(announce, refusal)
  }

  /** A lost connection is known already, and will be back; a refusal (an ACL, say) stays until somebody reads this. */
  const refusal = (err: unknown) => {
    if (refused || !(err instanceof ErrorReply)) return
    refused = true
    log.error({ err }, 'Redis refuses what the bus asks of it')
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
        // Should the connection break now, restore() says it again.
        await align().catch(refusal)
      }
      try {
        changed.add(channel)
        await align()
      } catch (error) {
        // A lost connection is no reason to fail: restore() subscribes again.
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
