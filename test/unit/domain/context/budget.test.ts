// The share of a budget that summaries may take, depending on the space that profiles and facts take.

import { describe, expect, it } from 'vitest'
import { DEFAULT_SHARES, SUMMARY_OVERHEAD, summariesThatFit } from '../../../../src/domain/context/budget.ts'

/** Ten summaries, each counted as 499 tokens: just below a twentieth of the budget of 10,000. */
const summaries = Array.from({ length: 10 }, (_, id) => ({ id, tokenCount: 499 - SUMMARY_OVERHEAD }))
const taken = (profiles: number, facts: number, withRecall = true) =>
  summariesThatFit(summaries, 10_000, DEFAULT_SHARES, withRecall, { profiles, facts }).taken.map(({ id }) => id)

describe('the share of summaries', () => {
  it('is the space that profiles and facts leave unused, between 35 and 55 per cent of the budget', () => {
    expect(taken(0, 0)).toHaveLength(10)
    expect(taken(1_000, 0)).toHaveLength(9)
    expect(taken(1_000, 1_000)).toHaveLength(7)
    expect(taken(50_000, 90_000)).toEqual([3, 4, 5, 6, 7, 8, 9])
    // Facts may use the share that profiles leave unused, but profiles may not use the share of facts.
    expect(taken(0, 90_000)).toHaveLength(7)
    expect(taken(90_000, 0)).toHaveLength(9)
  })

  it('is larger without recall', () => {
    expect(taken(90_000, 90_000, false)).toHaveLength(8)
  })

  it('adds up to the whole budget with the shares of all other sections', () => {
    expect(Object.values(DEFAULT_SHARES).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1)
  })
})
