// BM25 by its published formula, and the average length of a turn with its neighbours.

import { describe, expect, it } from 'vitest'
import { averageSurrounded, bm25, coverage, rarities, type Statistics } from '../../../src/domain/recall/bm25.ts'

const [CAT, DAY] = [0, 1]
const statistics: Statistics = { texts: 100, holding: [2, 60], averageLength: 10 }
const rarity = rarities(statistics)
const score = (counts: [number, number][], length = 10) => bm25(rarity, new Map(counts), length, 10)

describe('the rarity of a term', () => {
  it("is Lucene's inverse document frequency", () => {
    expect(rarity).toEqual([Math.log(1 + 98.5 / 2.5), Math.log(1 + 40.5 / 60.5)])
  })
  it('is never negative, even if more turns contain a term than were counted', () => {
    expect(rarities({ texts: 5, holding: [5, 9, 0], averageLength: 1 }).every((each) => each >= 0)).toBe(true)
  })
})

describe('bm25', () => {
  it('equals the rarity of a term that occurs once in a turn of average length', () => {
    expect(score([[CAT, 1]])).toBeCloseTo(rarity[CAT]!, 10)
  })
  it.each([
    ['a rare term than for a common one', score([[CAT, 1]]), score([[DAY, 1]])],
    ['a repeated term', score([[CAT, 2]]), score([[CAT, 1]])],
    [
      'two terms',
      score([
        [CAT, 1],
        [DAY, 1],
      ]),
      score([[CAT, 1]]),
    ],
    ['a short turn', score([[CAT, 1]], 4), score([[CAT, 1]], 40)],
  ])('is greater for %s', (_, more, less) => expect(more).toBeGreaterThan(less))
  it('grows less with each repetition', () => {
    expect(score([[CAT, 2]])).toBeLessThan(2 * score([[CAT, 1]]))
    expect(score([[CAT, 1000]])).toBeLessThan(2.2 * rarity[CAT]!)
  })
  it('is 0 without matching terms', () => expect(score([])).toBe(0))
})

it('a turn with neighbours is 1 + 2 (1/2 + 1/3 + 1/4) times as long as one without', () => {
  expect(averageSurrounded(12)).toBeCloseTo(12 * (1 + 2 * (1 / 2 + 1 / 3 + 1 / 4)), 10)
})

describe('coverage', () => {
  it('is the matched share of the query, weighted by rarity', () => {
    expect(coverage(rarity, new Set())).toBe(0)
    expect(coverage(rarity, new Set([CAT, DAY]))).toBe(1)
    expect(coverage(rarity, new Set([CAT]))).toBeCloseTo(rarity[CAT]! / (rarity[CAT]! + rarity[DAY]!), 10)
  })
  it('of an empty query is 0', () => expect(coverage([], new Set())).toBe(0))
})
