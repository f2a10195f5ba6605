// The bus on Redis: the contract within and between processes, and outages simulated by a proxy in front of Redis.

import { randomUUID } from 'node:crypto'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from 'vitest'
import { createRedisBus } from '../../../src/bus/redis.ts'
import { redisConnector } from '../../../src/bus/redis-client.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createRedisPresence } from '../../../src/bus/redis-presence.ts'
import { createRedisRateLimit } from '../../../src/bus/redis-rate-limit.ts'
import { Unavailable } from '../../../src/errors.ts'
import { busContract, WAIT_OPTIONS } from '../../contract/bus.ts'
import { createProxy } from '../../support/proxy.ts'

const url = process.env.TEST_REDIS_URL ?? ''
const quiet = { info() {}, warn() {}, error() {} }

describe.skipIf(!url)('the bus on Redis (needs TEST_REDIS_URL)', () => {
  busContract('within a process', async () => {
    const bus = await createRedisBus(redisConnector(url, quiet), quiet)
    return { publisher: bus, listener: bus }
  })

  busContract('between two processes', async () => ({
    publisher: await createRedisBus(redisConnector(url, quiet), quiet),
    listener: await createRedisBus(redisConnector(url, quiet), quiet),
  }))

  const admin = createClient({ url })
  beforeAll(async () => void (await admin.connect()))
  afterAll(() => admin.destroy())
  /** Number of connections subscribed to the topic. */
  const subscriptionsOf = async (topic: string) => Object.values(await admin.pubSubNumSub([`colloquy:${topic}`]))[0]

  /** A bus behind a proxy of its own, with a subscription; and a directly connected bus as the other process. */
  async function outage({ onTestFinished }: TestContext) {
    const proxy = await createProxy(url)
    const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const [bus, other] = await Promise.all([
      createRedisBus(redisConnector(proxy.url, log), log),
      createRedisBus(redisConnector(url, quiet), quiet),
    ])
    const [receive, restored] = [vi.fn(), vi.fn()]
    const topic = `test-${randomUUID()}`
    const end = await bus.subscribe(topic, receive)
    bus.onRestored(restored)
    onTestFinished(async () => {
      await Promise.all([bus.close(), other.close()])
      await proxy.close()
    })
    return { proxy, log, bus, other, receive, restored, topic, end }
  }

  test('Redis has one subscription per topic and process, from the first subscriber to the last', async ({
    onTestFinished,
  }) => {
    const bus = await createRedisBus(redisConnector(url, quiet), quiet)
    onTestFinished(() => bus.close())
    const topic = `test-${randomUUID()}`
    const ends = await Promise.all([bus.subscribe(topic, () => {}), bus.subscribe(topic, () => {})])
    expect(await subscriptionsOf(topic)).toBe(1)
    await ends[0]?.()
    expect(await subscriptionsOf(topic)).toBe(1)
    await ends[1]?.()
    expect(await subscriptionsOf(topic)).toBe(0)
    await bus.subscribe(topic, () => {})
    expect(await subscriptionsOf(topic)).toBe(1)
  })

  test('subscribe rejects with the error of Redis, and publish logs repeated errors once', async () => {
    const username = `test-${randomUUID()}`
    await admin.sendCommand(['ACL', 'SETUSER', username, 'on', '>secret', '+@all', 'resetchannels'])
    const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const connect = redisConnector(Object.assign(new URL(url), { username, password: 'secret' }).href, log)
    const bus = await createRedisBus(connect, log)
    try {
      const [receive, later] = [vi.fn(), vi.fn()]
      await expect(bus.subscribe(username, receive)).rejects.toThrow('NOPERM')
      for (let i = 0; i < 10; i++) bus.publish(username, 'hello')
      await vi.waitFor(() => expect(log.error).toHaveBeenCalled(), WAIT_OPTIONS)
      await bus.ping()
      expect(log.error).toHaveBeenCalledOnce()

      await admin.sendCommand(['ACL', 'SETUSER', username, 'allchannels'])
      await bus.subscribe(username, later)
      bus.publish(username, 'hello')
      await vi.waitFor(() => expect(later).toHaveBeenCalled(), WAIT_OPTIONS)
      expect(receive).not.toHaveBeenCalled()
    } finally {
      await bus.close()
      await admin.sendCommand(['ACL', 'DELUSER', username])
    }
  })

  describe.concurrent('in an outage', () => {
    test('the bus replaces a killed pub/sub connection, restores its subscriptions and reports the gap', async (context) => {
      const { proxy, log, other, receive, restored, topic } = await outage(context)
      const clients = (await admin.sendCommand(['CLIENT', 'LIST', 'TYPE', 'pubsub'])) as unknown as string
      const ours = clients.split('\n').filter((line) => proxy.addresses().some((at) => line.includes(` addr=${at} `)))
      expect(ours).toHaveLength(1)
      await admin.sendCommand(['CLIENT', 'KILL', 'ID', /id=(\d+)/.exec(ours[0] ?? '')?.[1] ?? ''])
      await vi.waitFor(() => expect(restored).toHaveBeenCalledOnce(), WAIT_OPTIONS)
      other.publish(topic, 'hello again')
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['hello again']]), WAIT_OPTIONS)
      expect(log.warn).toHaveBeenCalledOnce()
      expect(log.info).toHaveBeenCalledOnce()
    })

    test('ping rejects and publish does not throw while Redis is down, and both work once it is back', async (context) => {
      const { proxy, log, bus, other, receive, restored, topic } = await outage(context)
      await proxy.cut()
      await vi.waitFor(() => expect(bus.ping()).rejects.toThrow(), WAIT_OPTIONS)
      bus.publish(topic, 'lost')
      other.publish(topic, 'lost too')
      // Allow time for several attempts to reconnect.
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      bus.publish(topic, 'lost')
      expect(log.warn).toHaveBeenCalledOnce()
      expect(restored).not.toHaveBeenCalled()
      await proxy.restore()
      await vi.waitFor(() => expect(restored).toHaveBeenCalledOnce(), WAIT_OPTIONS)
      await bus.ping()
      bus.publish(topic, 'from here')
      await vi.waitFor(() => expect(receive).toHaveBeenCalled(), WAIT_OPTIONS)
      other.publish(topic, 'from there')
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['from here'], ['from there']]), WAIT_OPTIONS)
      expect(restored).toHaveBeenCalledOnce()
      expect(log.warn).toHaveBeenCalledOnce()
      expect(log.info).toHaveBeenCalledOnce()

      await proxy.cut()
      await vi.waitFor(() => expect(log.warn).toHaveBeenCalledTimes(2), WAIT_OPTIONS)
    })

    test('every remaining onRestored callback is called, even if another one throws', async (context) => {
      const { proxy, log, bus, restored } = await outage(context)
      const gone = vi.fn()
      bus.onRestored(gone)()
      bus.onRestored(() => {
        throw new Error('thrown by a test')
      })
      const last = vi.fn()
      bus.onRestored(last)
      proxy.drop()
      await vi.waitFor(() => expect(last).toHaveBeenCalledOnce(), WAIT_OPTIONS)
      expect(restored).toHaveBeenCalledOnce()
      expect(gone).not.toHaveBeenCalled()
      expect(log.error).toHaveBeenCalledOnce()
    })

    test('reconnection applies the subscriptions that changed in the outage, before it reports the gap', async (context) => {
      const { proxy, bus, other, restored, topic, end } = await outage(context)
      const [late, gone] = [`${topic}-late`, `${topic}-gone`]
      await proxy.cut()
      await vi.waitFor(() => expect(bus.ping()).rejects.toThrow(), WAIT_OPTIONS)
      await end()
      const receive = vi.fn()
      await bus.subscribe(late, receive)
      await (
        await bus.subscribe(gone, () => {})
      )()
      restored.mockImplementation(() => other.publish(late, 'news'))
      await proxy.restore()
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['news']]), WAIT_OPTIONS)
      expect(await Promise.all([topic, gone, late].map(subscriptionsOf))).toEqual([0, 0, 1])
    })

    test('the bus repeats a subscribe or unsubscribe whose reply was lost', async (context) => {
      const { proxy, bus, other, restored, topic, end } = await outage(context)
      const receive = vi.fn()
      proxy.silence()
      const begun = bus.subscribe(`${topic}-begun`, receive)
      const ended = end()
      await new Promise((resolve) => setTimeout(resolve, 50))
      await proxy.cut()
      await Promise.all([begun, ended])
      await proxy.restore()
      await vi.waitFor(() => expect(restored).toHaveBeenCalledOnce(), WAIT_OPTIONS)
      other.publish(`${topic}-begun`, 'hello')
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['hello']]), WAIT_OPTIONS)
      expect(await subscriptionsOf(topic)).toBe(0)
    })

    test('the bus replaces a connection on which Redis stops answering', async (context) => {
      const { proxy, bus, other, receive, restored, topic } = await outage(context)
      proxy.silence()
      await expect(bus.ping()).rejects.toThrow('did not reply')
      await vi.waitFor(
        () => {
          // Writes keep the socket busy, so neither the operating system nor Node detects that it is idle.
          bus.publish(topic, 'lost')
          expect(restored).toHaveBeenCalled()
        },
        { interval: 50 },
      )
      // Each of the two connections has its own watchdog; both connections must have been replaced.
      await vi.waitFor(() => bus.ping(), WAIT_OPTIONS)
      other.publish(topic, 'hello again')
      await vi.waitFor(() => expect(receive).toHaveBeenLastCalledWith('hello again'), WAIT_OPTIONS)
    })

    test('while Redis does not answer, the bus buffers messages up to a limit and drops the rest', async (context) => {
      const { proxy, bus, other, topic } = await outage(context)
      const [large, small] = [vi.fn(), vi.fn()]
      await other.subscribe(topic, (message) => (message === 'last' ? small() : large()))
      proxy.silence()
      const half = 'x'.repeat(512 * 1024)
      for (let i = 0; i < 200; i++) bus.publish(topic, half)
      proxy.resume()
      await vi.waitFor(() => {
        bus.publish(topic, 'last')
        expect(small).toHaveBeenCalled()
      }, WAIT_OPTIONS)
      // The limit of 32 MiB is 64 messages, and the message that exceeds it is still sent.
      expect(large.mock.calls.length).toBeGreaterThan(60)
      expect(large.mock.calls.length).toBeLessThan(70)
    })

    test('a process can start without Redis', async (context) => {
      const proxy = await createProxy(url)
      await proxy.cut()
      const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
      const bus = await createRedisBus(redisConnector(proxy.url, log), log)
      context.onTestFinished(async () => {
        await bus.close()
        await proxy.close()
      })
      const [receive, restored] = [vi.fn(), vi.fn()]
      const topic = `test-${randomUUID()}`
      bus.onRestored(restored)
      await bus.subscribe(topic, receive)
      expect(log.warn).toHaveBeenCalledOnce()
      await proxy.restore()
      await vi.waitFor(() => expect(restored).toHaveBeenCalledOnce(), WAIT_OPTIONS)
      bus.publish(topic, 'hello')
      await vi.waitFor(() => expect(receive.mock.calls).toEqual([['hello']]), WAIT_OPTIONS)
    })

    test('a connector logs one line when it loses Redis and one when it reconnects, without a stack trace or the password', async (context) => {
      const proxy = await createProxy(url)
      const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
      const connect = redisConnector(Object.assign(new URL(proxy.url), { username: 'default' }).href, log)
      const stores = await Promise.all([
        createRedisBus(connect, log),
        createRedisPresence(connect),
        createRedisRateLimit(connect, 10, systemClock),
      ])
      context.onTestFinished(async () => {
        for (const store of stores) await store.close()
        await proxy.close()
      })
      const [bus, presence, rates] = stores
      await proxy.cut()
      await vi.waitFor(() => expect(bus.ping()).rejects.toThrow('cannot be reached'), WAIT_OPTIONS)
      for (let n = 0; n < 3; n++) {
        await expect(presence.takeExpired(1)).rejects.toBeInstanceOf(Unavailable)
        await rates.take('ada', 1)
      }
      await proxy.restore()
      await vi.waitFor(() => presence.states([]), WAIT_OPTIONS)
      await vi.waitFor(() => expect(log.info).toHaveBeenCalled(), WAIT_OPTIONS)
      await vi.waitFor(() => bus.ping(), WAIT_OPTIONS)
      const { host } = new URL(proxy.url)
      const redis = expect.stringMatching(`^redis://${host}`)
      expect(log.warn.mock.calls).toEqual([[{ redis, reason: expect.any(String) }, expect.stringContaining('reached')]])
      expect(log.info.mock.calls).toEqual([[{ redis }, 'Redis is connected again']])
      expect(log.error).not.toHaveBeenCalled()
    })

    test('close leaves no connection open, even if Redis does not answer', async (context) => {
      const { proxy, bus, log } = await outage(context)
      proxy.silence('new connections')
      bus.publish('any', 'unanswered')
      await bus.close()
      // This wait is shorter than the timeout that closes idle sockets.
      await vi.waitFor(() => expect(proxy.connections()).toBe(0))
      expect(log.warn).not.toHaveBeenCalled()
    })

    test('close during an outage stops the attempts to reconnect', async (context) => {
      const { proxy, bus, log, restored } = await outage(context)
      await proxy.cut()
      await vi.waitFor(() => expect(bus.ping()).rejects.toThrow(), WAIT_OPTIONS)
      await proxy.restore()
      await bus.close()
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      expect(proxy.connections()).toBe(0)
      expect(restored).not.toHaveBeenCalled()
      expect(log.warn).toHaveBeenCalledOnce()
    })

    test('close during an attempt to reconnect leaves no connection open', async (context) => {
      const { proxy, bus, log, restored } = await outage(context)
      // This promise resolves when the next attempt has started but is not yet connected.
      const attempting = new Promise<void>((resolve) => log.warn.mockImplementation(() => queueMicrotask(resolve)))
      proxy.drop()
      await attempting
      await bus.close()
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect(proxy.connections()).toBe(0)
      expect(restored).not.toHaveBeenCalled()
    })

    test('an outage during close is not logged', async (context) => {
      const { proxy, bus, log } = await outage(context)
      proxy.silence()
      bus.publish('any', 'unanswered')
      const closing = bus.close()
      await proxy.cut()
      await closing
      expect(log.warn).not.toHaveBeenCalled()
    })
  })
})
