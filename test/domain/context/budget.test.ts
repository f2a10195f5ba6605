// How much of a budget summaries may take, beside what is known.

import { describe, expect, it } from 'vitest'
import { DEFAULT_SHARES, OVERHEAD, summariesThatFit } from '../../../src/domain/context/budget.ts'

/** Ten summaries of a twentieth of 10,000 tokens each, as they are counted. */
const summaries = Array.from({ length: 10 }, (_, id) => ({ id, tokenCount: 499 - OVERHEAD.most }))
const taken = (profiles: number, facts: number, withRecall = true) =>
  summariesThatFit(summaries, 10_000, DEFAULT_SHARES, withRecall, { profiles, facts }).taken.map(({ id }) => id)

describe('summaries', () => {
  it('may take what profiles and facts leave: 55 per cent at most, 35 at least', () => {
    expect(taken(0, 0)).toHaveLength(10)
    expect(taken(1_000, 0)).toHaveLength(9)
    expect(taken(1_000, 1_000)).toHaveLength(7)
    expect(taken(50_000, 90_000)).toEqual([3, 4, 5, 6, 7, 8, 9])
    // Facts may take what profiles leave, but not the other way round.
    expect(taken(0, 90_000)).toHaveLength(7)
    expect(taken(90_000, 0)).toHaveLength(9)
  })

  it('and more where nothing is recalled', () => {
    expect(taken(90_000, 90_000, false)).toHaveLength(8)
  })

  it('add up with all other sections', () => {
    expect(Object.values(DEFAULT_SHARES).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1)
  })
})
