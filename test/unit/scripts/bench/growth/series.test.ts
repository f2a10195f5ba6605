import { describe, expect, test } from 'vitest'
import { relativeCosts, rowsOf, type Series } from '../../../../../scripts/bench/growth/series.ts'

const series = (large: number[], reason: string | null = null): Series => ({
  verb: 'append',
  quantity: 'turns',
  unit: 'ms',
  reason,
  costs: [
    { size: 1_000, rounds: [1, 2, 4] },
    { size: 100_000, rounds: large },
  ],
})

describe('the cost of a verb by size', () => {
  test('is relative to the smallest size of the same round', () => {
    expect(relativeCosts(series([2, 2, 12]))).toEqual([
      { size: 1_000, ratio: 1, least: 1, most: 1 },
      { size: 100_000, ratio: 2, least: 1, most: 3 },
    ])
  })

  test.each([
    ['printed as flat if the largest size costs at most 1.5 times the smallest', series([1, 2, 6]), 'flat'],
    ['printed as growing, with its reason', series([2, 4, 8], 'all are searched'), 'grows: all are searched'],
    ['printed as growing, without a known reason', series([2, 4, 8]), 'grows: the reason is not known'],
  ])('is %s', (_, given, verdict) => {
    const rows = rowsOf(given)
    expect(rows.map((row) => row[1])).toEqual(['1,000 turns', '100,000 turns'])
    expect(rows.map((row) => row.at(-1))).toEqual(['', verdict])
  })
})
