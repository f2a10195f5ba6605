// Rate limits of one process: the contract, and the periods.

import { expect, test } from 'vitest'
import { createMemoryRateLimit } from '../../../src/bus/memory-rate-limit.ts'
import { POINTS, rateLimitContract } from '../../contract/rate-limit.ts'

rateLimitContract('the rate limit of one process', async () => {
  const limit = createMemoryRateLimit(POINTS)
  return { limit, other: limit }
})

test('a key has all its points again after its period', async () => {
  let now = 1_000
  const limit = createMemoryRateLimit(POINTS, () => now)
  await limit.take('ada', POINTS)
  now += 20_000
  expect(await limit.take('ada', 1)).toBe(40_000)
  now += 40_000
  expect(await limit.take('ada', POINTS)).toBeNull()
})
