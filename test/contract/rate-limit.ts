// The contract of every rate limit. It runs with two limits that share their keys: the same limit, or the limits of two
// processes.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RateLimit } from '../../src/bus/rate-limit.ts'

type Limits = { limit: RateLimit; other: RateLimit }

/** Number of points of the limits under test. */
export const POINTS = 10

export function rateLimitContract(name: string, create: () => Promise<Limits>): void {
  describe(name, () => {
    let { limit, other } = {} as Limits
    beforeEach(async () => {
      ;({ limit, other } = await create())
    })
    afterEach(async () => {
      await Promise.all([limit.close(), other.close()])
    })

    test('a key can use all of its points, from any process, but no more', async () => {
      expect(limit.points).toBe(POINTS)
      expect(await limit.take('ada', 4)).toBeNull()
      expect(await other.take('ada', 6)).toBeNull()
      for (const each of [limit, other]) {
        const retryAfterMs = await each.take('ada', 1)
        expect(retryAfterMs).toBeGreaterThan(50_000)
        expect(retryAfterMs).toBeLessThanOrEqual(60_000)
      }
    })

    test('a rejected request takes no points', async () => {
      await limit.take('ada', 8)
      expect(await limit.take('ada', 3)).not.toBeNull()
      expect(await limit.take('ada', 2)).toBeNull()
    })

    test('each key has its own points', async () => {
      await limit.take('ada', POINTS)
      expect(await limit.take('bob', POINTS)).toBeNull()
    })

    test('a request that costs more than all points is accepted only as the first request of a key', async () => {
      expect(await limit.take('ada', POINTS * 5)).toBeNull()
      expect(await limit.take('ada', 1)).not.toBeNull()
      await limit.take('bob', 1)
      expect(await limit.take('bob', POINTS * 5)).not.toBeNull()
    })

    test('concurrent requests do not take more than all points', async () => {
      const taken = await Promise.all(Array.from({ length: 40 }, (_, at) => (at % 2 ? limit : other).take('ada', 1)))
      expect(taken.filter((each) => each === null)).toHaveLength(POINTS)
    })
  })
}
