// BM25 by its published formula, and the average length of a turn with its neighbours.

import { describe, expect, it } from 'vitest'
import {
  averageLengthWithNeighbours,
  bm25,
  queryShare,
  inverseDocumentFrequencies,
  type Statistics,
} from '../../../../../../src/domain/memory/recall/rank/bm25.ts'

const [CAT, DAY] = [0, 1]
const statistics: Statistics = { texts: 100, documentFrequencies: [2, 60], averageLength: 10 }
const idf = inverseDocumentFrequencies(statistics)
const score = (counts: [number, number][], length = 10) => bm25(idf, new Map(counts), length, 10)

describe('the inverse document frequency of a term', () => {
  it("is Lucene's inverse document frequency", () => {
    expect(idf).toEqual([Math.log(1 + 98.5 / 2.5), Math.log(1 + 40.5 / 60.5)])
  })
  it('is never negative, even if more turns contain a term than were counted', () => {
    expect(
      inverseDocumentFrequencies({ texts: 5, documentFrequencies: [5, 9, 0], averageLength: 1 }).every(
        (each) => each >= 0,
      ),
    ).toBe(true)
  })
})

describe('bm25', () => {
  it('equals the inverse document frequency of a term that occurs once in a turn of average length', () => {
    expect(score([[CAT, 1]])).toBeCloseTo(idf[CAT]!, 10)
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
    expect(score([[CAT, 1000]])).toBeLessThan(2.2 * idf[CAT]!)
  })
  it('is 0 without matching terms', () => expect(score([])).toBe(0))
})

it('a turn with neighbours is 1 + 2 (1/2 + 1/3 + 1/4) times as long as one without', () => {
  expect(averageLengthWithNeighbours(12)).toBeCloseTo(12 * (1 + 2 * (1 / 2 + 1 / 3 + 1 / 4)), 10)
})

describe('the query share', () => {
  it('is the matched share of the query, weighted by inverse document frequency', () => {
    expect(queryShare(idf, new Set())).toBe(0)
    expect(queryShare(idf, new Set([CAT, DAY]))).toBe(1)
    expect(queryShare(idf, new Set([CAT]))).toBeCloseTo(idf[CAT]! / (idf[CAT]! + idf[DAY]!), 10)
  })
  it('of an empty query is 0', () => expect(queryShare([], new Set())).toBe(0))
})
