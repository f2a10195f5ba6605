// The histograms of metrics, and the counters of refused operations by error code.

import { expect, test } from 'vitest'
import { counters, observe, refused } from '../../../src/runtime/counters.ts'

test('an observation is counted in the first bucket whose bound it does not exceed', () => {
  const histogram = { ...counters.lag, counts: counters.lag.counts.map(() => 0), sum: 0 }
  for (const seconds of [0, 0.001, 0.0011, 29, 31]) observe(histogram, seconds)
  const { bounds, counts, sum } = histogram
  expect(counts).toEqual([2, 1, ...bounds.slice(2, -1).map(() => 0), 1, 1])
  expect(sum).toBeCloseTo(60.0021)
})

test('codes beyond the maximum are counted together', () => {
  const { refusals } = counters
  for (let n = 0; n < 150; n++) refused(`CODE_${n}`)
  refused('CODE_0')
  expect(refusals.size).toBe(101)
  expect(refusals.get('CODE_0')).toBe(2)
  expect(refusals.get('OTHER')).toBe(50)
})
