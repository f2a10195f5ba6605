// The relevance of ranked candidates: a probability that depends on how well a candidate matches and on how far it is
// ahead of the other candidates. `npm run bench:relevance` measures its calibration.

import { describe, expect, it } from 'vitest'
import {
  comparedOf,
  relevanceAmong,
  relevanceFeatures,
} from '../../../../../../src/domain/memory/recall/rank/relevance.ts'

type Features = { own: number; echo: boolean; similarity: number | null }
type Ranked = { candidate: Features; score: number }

const match = (score: number, { own = 0.5, similarity = 0.3, echo = false }: Partial<Features> = {}): Ranked => ({
  candidate: { own, echo, similarity },
  score,
})
const relevances = (...ranked: Ranked[]) => {
  const hasVectors = ranked.some(({ candidate }) => candidate.similarity !== null)
  return ranked.map(relevanceAmong(comparedOf(ranked), hasVectors))
}
const others = (count: number, score: number) => Array.from({ length: count }, () => match(score))

describe('the relevance of a candidate', () => {
  it('is a probability, whatever the score', () => {
    for (const relevance of relevances(match(6), match(2), match(0), match(-2))) {
      expect(relevance > 0 && relevance < 1).toBe(true)
    }
  })

  it('falls with the score', () => {
    const found = relevances(match(2.4), match(2), match(1.5), match(1))
    expect(found).toEqual(found.toSorted((a, b) => b - a))
    expect(new Set(found).size).toBe(4)
  })

  it.each([
    [
      'is farther ahead of the others',
      relevances(match(2.4), ...others(30, 1))[0],
      relevances(match(2.4), ...others(30, 2.2))[0],
    ],
    ['contains more of the query', relevances(match(2, { own: 0.9 }))[0], relevances(match(2, { own: 0.2 }))[0]],
  ])('is higher if it %s', (_, higher, lower) => expect(higher).toBeGreaterThan(lower! + 0.05))

  it('is above a half for the one good match in a conversation, and low for a poor match that is the only one', () => {
    const good = { own: 0.9 }
    expect(relevances(match(2.6, good), ...others(40, 1))[0]).toBeGreaterThan(0.5)
    expect(relevances(match(2.6, good))[0]).toBeGreaterThan(0.5)
    expect(relevances(match(0.8, { own: 0.1 }))[0]).toBeLessThan(0.1)
  })

  it('does not change with the number of candidates after the first 20', () => {
    const first = relevances(match(2), ...others(19, 1.2))
    expect(relevances(match(2), ...others(300, 1.2)).slice(0, 20)).toEqual(first)
  })

  it('is not lowered by a turn that asks the query', () => {
    const question = match(3.5, { own: 1, echo: true })
    const [asked, ...rest] = relevances(question, match(2), ...others(30, 1.2))
    expect(rest).toEqual(relevances(match(2), ...others(30, 1.2)))
    expect(asked).toBeLessThan(relevances(match(3.5, { own: 1 }), match(2), ...others(30, 1.2))[0]!)
  })

  it('uses the coefficients for words if no candidate has a vector', () => {
    const [withVectors] = relevances(match(2), match(1, { similarity: null }))
    const [withoutVectors] = relevances(match(2, { similarity: null }), match(1, { similarity: null }))
    expect(withoutVectors).not.toBe(withVectors)
  })
})

it('no candidates have no features', () => expect(relevanceFeatures([])).toEqual([]))
