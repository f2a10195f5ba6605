// The time to wait before a retry.

import { expect, test } from 'vitest'
import { backoffMs } from '../../../src/runtime/clock.ts'

test('the time to wait doubles with each failure, up to the maximum', () => {
  const waits = [1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs({ firstMs: 100, maxMs: 1_000 }, failures))
  expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000])
})

test('at most the jitter is removed from the time to wait', () => {
  const waits = [0, 0.5, 1].map((random) => backoffMs({ firstMs: 100, jitter: 0.4 }, 2, random))
  expect(waits).toEqual([200, 160, 120])
  for (let n = 0; n < 100; n++) {
    const wait = backoffMs({ firstMs: 100, jitter: 0.5 }, 1)
    expect(wait).toBeGreaterThanOrEqual(50)
    expect(wait).toBeLessThanOrEqual(100)
  }
})
