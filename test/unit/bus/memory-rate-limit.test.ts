// Rate limits of one process: the contract, and the periods.

import { expect, test } from 'vitest'
import { createMemoryRateLimit } from '../../../src/bus/memory-rate-limit.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { POINTS, rateLimitContract } from '../../contract/rate-limit.ts'
import { fakeClock } from '../../support/fake-clock.ts'

rateLimitContract('the rate limit of one process', async () => {
  const limit = createMemoryRateLimit(POINTS, systemClock)
  return { limit, other: limit }
})

test('a key has all its points again after its period', async () => {
  const clock = fakeClock()
  const limit = createMemoryRateLimit(POINTS, clock)
  await limit.take('ada', POINTS)
  await clock.advance(20_000)
  expect(await limit.take('ada', 1)).toBe(40_000)
  await clock.advance(40_000)
  expect(await limit.take('ada', POINTS)).toBeNull()
})
