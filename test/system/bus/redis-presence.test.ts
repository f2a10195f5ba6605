// Presence on Redis: the contract between two processes, the expiry of keys, and outages of Redis.

import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { redisConnector } from '../../../src/bus/redis-client.ts'
import { createRedisPresence } from '../../../src/bus/redis-presence.ts'
import { WAIT_OPTIONS } from '../../contract/bus.ts'
import { presenceContract } from '../../contract/presence.ts'
import { createProxy } from '../../support/proxy.ts'

const url = process.env.TEST_REDIS_URL ?? ''
const quiet = { info() {}, warn() {}, error() {} }
const mark = { tenant: 'tenant', conversationId: 'conversation', actor: 'ada', holder: 'socket' }

describe.skipIf(!url)('presence on Redis (needs TEST_REDIS_URL)', () => {
  const admin = createClient({ url })
  beforeAll(async () => void (await admin.connect()))
  afterAll(() => admin.destroy())

  presenceContract('of two processes', async () => {
    await admin.flushDb()
    const [store, other] = await Promise.all([
      createRedisPresence(redisConnector(url, quiet)),
      createRedisPresence(redisConnector(url, quiet)),
    ])
    return { store, other, elapse: (ms) => new Promise((resolve) => setTimeout(resolve, ms + 10)) }
  })

  test('every key expires eventually, but not before the last mark has expired', async ({ onTestFinished }) => {
    await admin.flushDb()
    const store = await createRedisPresence(redisConnector(url, quiet))
    onTestFinished(() => store.close())
    await store.set(mark, 'ONLINE', 7_200_000)
    await store.set({ ...mark, holder: 'another' }, 'ONLINE', 1_000)
    const keys = await admin.keys('*')
    expect(keys).toHaveLength(3)
    for (const key of keys) {
      expect(key).toMatch(/^colloquy:/)
      expect(await admin.pTTL(key)).toBeGreaterThan(7_200_000)
    }
    await store.remove({ ...mark, holder: 'another' })
    await store.set(mark, 'ONLINE', 1)
    await vi.waitFor(async () => expect(await store.takeExpired(10)).toEqual([mark]), WAIT_OPTIONS)
    expect(await admin.keys('*')).toEqual([])
  })

  test('calls reject while Redis is down or silent, and succeed once it answers again', async ({ onTestFinished }) => {
    await admin.flushDb()
    const proxy = await createProxy(url)
    const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const store = await createRedisPresence(redisConnector(proxy.url, log))
    onTestFinished(async () => {
      await store.close()
      await proxy.close()
    })
    const allReject = (message: string) => {
      const calls = [
        store.set(mark, '', 60_000),
        store.remove(mark),
        store.states(['conversation']),
        store.takeExpired(1),
      ]
      return Promise.all(calls.map((call) => expect(call).rejects.toThrow(message)))
    }

    proxy.silence()
    await allReject('did not reply')
    await proxy.cut()
    await vi.waitFor(() => expect(store.states(['conversation'])).rejects.toThrow('cannot be reached'), WAIT_OPTIONS)
    await allReject('cannot be reached')

    await proxy.restore()
    await vi.waitFor(() => store.set(mark, 'TYPING', 60_000), WAIT_OPTIONS)
    expect(await store.states(['conversation'])).toEqual(new Map([['conversation', new Map([['ada', 'TYPING']])]]))
    expect(log.warn).toHaveBeenCalledOnce()
    expect(log.info).toHaveBeenCalledOnce()
  })
})
