// Facts and summaries that are ranked among turns: their score by words, subject and age.

import { describe, expect, it } from 'vitest'
import { WEIGHTS } from '../../../../../../src/domain/memory/recall/rank/rank.ts'
import { rankStandalone, type StandaloneMemory } from '../../../../../../src/domain/memory/recall/rank/standalone.ts'
import { readQuestion } from '../../../../../../src/domain/memory/recall/rank/question.ts'

const question = readQuestion('ada lives rome', [], new Date('2026-11-27'))
/** The index of each term of the query. The terms 10, 20 and 30 occur in 8, 2 and 1 of 10 candidates. */
const queryTerms = new Map([
  [10, 0],
  [20, 1],
  [30, 2],
])
const statistics = { texts: 10, documentFrequencies: [8, 2, 1], averageLength: 3 }
const memory = (terms: number[], more: Partial<StandaloneMemory> = {}): StandaloneMemory => ({
  terms,
  named: false,
  at: 0,
  cues: 0,
  similarity: null,
  ...more,
})
const textScores = (...found: StandaloneMemory[]) =>
  rankStandalone(question, queryTerms, statistics, found).map(({ candidate, textScore }) => [
    candidate.terms.join(),
    textScore,
  ])

describe('a fact or summary', () => {
  it('scores 1 by words if it contains all terms of the query', () => {
    const [best, next] = textScores(memory([10, 40]), memory([10, 20, 30]))
    expect(best).toEqual(['10,20,30', expect.closeTo(1)])
    expect(next).toEqual(['10,40', expect.closeTo(0.07, 1)])
  })

  it('scores low by words if it contains only a common term, even if no candidate contains more', () => {
    const [[, score]] = textScores(memory([10, 40, 50])) as [[string, number]]
    expect(score).toBeGreaterThan(0)
    expect(score).toBeLessThan(0.3)
  })

  it('has no score by words if it contains no term, and is ranked by similarity', () => {
    const ranked = rankStandalone(question, queryTerms, statistics, [memory([40], { similarity: 0.9 }), memory([50])])
    expect(ranked.map(({ textScore }) => textScore)).toEqual([null, null])
    expect(ranked[0]!.score - ranked[1]!.score).toBeCloseTo(0.9 * WEIGHTS.similarity)
  })

  it('scores higher if its subject is named, and ranks before an older one of equal score', () => {
    const named = memory([10], { named: true })
    expect(rankStandalone(question, queryTerms, statistics, [memory([10], { at: 5 }), named])[0]!.candidate.named).toBe(
      true,
    )
    expect(
      rankStandalone(question, queryTerms, statistics, [memory([10]), memory([10], { at: 5 })])[0]!.candidate.at,
    ).toBe(5)
  })
})
