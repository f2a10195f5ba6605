// Rate limits on Redis: the contract between two processes, the expiry of keys, and outages of Redis.

import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisConnector } from '../../../src/bus/redis-client.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createRedisRateLimit } from '../../../src/bus/redis-rate-limit.ts'
import { POINTS, rateLimitContract } from '../../contract/rate-limit.ts'
import { createProxy } from '../../support/proxy.ts'

const url = process.env.TEST_REDIS_URL ?? ''
const quiet = { info() {}, warn() {}, error() {} }

describe.skipIf(!url)('rate limits on Redis (needs TEST_REDIS_URL)', () => {
  const admin = createClient({ url })
  beforeAll(async () => void (await admin.connect()))
  afterAll(() => admin.destroy())

  rateLimitContract('of two processes', async () => {
    await admin.flushDb()
    const [limit, other] = await Promise.all(
      [1, 2].map(() => createRedisRateLimit(redisConnector(url, quiet), POINTS, systemClock)),
    )
    return { limit: limit!, other: other! }
  })

  test('the key of a viewer expires with the period', async ({ onTestFinished }) => {
    await admin.flushDb()
    const limit = await createRedisRateLimit(redisConnector(url, quiet), POINTS, systemClock)
    onTestFinished(() => limit.close())
    for (let at = 0; at < 3; at++) await limit.take('ada', 2)
    const [key] = await admin.keys('colloquy:rate:*')
    expect(await admin.pTTL(key!)).toBeGreaterThan(50_000)
    expect(await admin.pTTL(key!)).toBeLessThanOrEqual(60_000)
  })

  test('during an outage, each process limits requests independently', async ({ onTestFinished }) => {
    const proxy = await createProxy(url)

    const limit = await createRedisRateLimit(redisConnector(proxy.url, quiet), POINTS, systemClock)
    onTestFinished(async () => {
      await limit.close()
      await proxy.close()
    })
    await proxy.cut()
    expect(await limit.take(`outage-${process.pid}`, POINTS)).toBeNull()
    expect(await limit.take(`outage-${process.pid}`, POINTS)).toBeGreaterThan(0)
  })
})
