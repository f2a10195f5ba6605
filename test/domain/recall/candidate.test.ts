// A turn's neighbours and sitting, on sequences small enough to count by hand.

import { describe, expect, it } from 'vitest'
import { bm25, inverseDocumentFrequencies } from '../../../src/domain/recall/bm25.ts'
import {
  SITTING_REACH,
  statisticsOf,
  toTurnCandidate,
  withNeighbours,
  type TurnSearch,
} from '../../../src/domain/recall/candidate.ts'
import { Cue } from '../../../src/domain/indexing/cues.ts'
import type { IndexedTurn } from '../../../src/store/sql/recall/read-index.ts'

const MINUTE = 60_000
/** The query's terms are 7 and 8, with the indexes 0 and 1. */
const countsOf = (terms: number[]) =>
  new Map(
    [7, 8]
      .map((term, number) => [number, terms.filter((each) => each === term).length] as const)
      .filter(([, count]) => count > 0),
  )

const turn = (seq: number, terms: number[], more: Partial<IndexedTurn> = {}): IndexedTurn => ({
  conversationId: 'r',
  position: seq,
  seq,
  at: seq * MINUTE,
  actor: 'ann',
  tokens: 1,
  cues: 0,
  eligible: true,
  length: terms.length,
  counts: countsOf(terms),
  ...more,
})
const sequenceOf = (...turns: IndexedTurn[]) => turns

const scope = { texts: 100, documentFrequencies: [2, 60], averageLength: 4 }
const idf = inverseDocumentFrequencies(scope)
const search: TurnSearch = { idf, averageLength: 4, namesActor: () => false, similarity: () => null }

describe('statistics', () => {
  it('sum up a scope: the turns that contain a term, and the length of the matching turns', () => {
    expect(statisticsOf(2, sequenceOf(turn(1, [7, 7, 1]), turn(2, [7, 8, 1, 1, 1]), turn(3, [1, 1, 1])))).toEqual({
      texts: 3,
      documentFrequencies: [2, 1],
      averageLength: 4,
    })
  })
  it('are empty for an empty scope', () => {
    expect(statisticsOf(2, [])).toEqual({ texts: 0, documentFrequencies: [0, 0], averageLength: 1 })
  })
})

describe('the neighbours read with a match', () => {
  const sequence = sequenceOf(...Array.from({ length: 9 }, (_, i) => turn(i, [1], { eligible: i !== 3 })))
  it('are at most three turns on each side, and only turns that may be hits', () => {
    expect(withNeighbours(sequence, ({ seq }) => seq === 4).sort()).toEqual([1, 2, 4, 5, 6, 7])
  })
  it('are in the same sitting', () => {
    const later = [
      ...sequence.slice(0, 5),
      ...sequenceOf(...[5, 6].map((seq) => turn(seq, [1], { at: 10_000 * MINUTE }))),
    ]
    expect(withNeighbours(later, ({ seq }) => seq === 4).sort()).toEqual([1, 2, 4])
  })
  it('are listed once if two matches share them', () => {
    expect(withNeighbours(sequence, ({ seq }) => seq < 2).sort()).toEqual([0, 1, 2, 4])
  })
})

describe('a candidate', () => {
  const at = (sequence: IndexedTurn[], index: number, more: Partial<TurnSearch> = {}) =>
    toTurnCandidate({ ...search, ...more }, sequence, index)

  it('counts its own words, and those of its neighbours at a half, a third and a quarter', () => {
    const sequence = sequenceOf(
      turn(1, [7]),
      turn(2, [8, 1]),
      turn(3, [1]),
      turn(4, [8]),
      turn(5, [7, 1]),
      turn(6, [1]),
      turn(7, [7]),
      turn(8, [7]),
    )
    const counts = new Map([
      [1, 1 + 1 / 3],
      [0, 1 / 4 + 1 / 2 + 1 / 4],
    ])
    const length = 1 + 1 / 2 + 2 / 3 + 1 / 4 + 2 / 2 + 1 / 3 + 1 / 4
    expect(at(sequence, 3).bm25).toBeCloseTo(bm25(idf, counts, length, 4 * (1 + 2 * (1 / 2 + 1 / 3 + 1 / 4))), 10)
  })
  it('ignores turns of another sitting', () => {
    const sequence = sequenceOf(
      turn(1, [7], { cues: Cue.ASKS }),
      turn(2, [1], { at: 62 * MINUTE }),
      turn(3, [8], { at: 200 * MINUTE }),
    )
    expect(at(sequence, 1, { similarity: () => 0.5 })).toMatchObject({
      bm25: 0,
      sitting: 0,
      neighbourSimilarities: [],
      answers: false,
    })
  })
  it('shares a sitting with turns less than an hour before', () => {
    const sequence = sequenceOf(turn(1, [7], { at: 0 }), turn(2, [1], { at: 60 * MINUTE - 1 }))
    expect(at(sequence, 1).bm25).toBeGreaterThan(0)
  })
  it(`has the share of the query that its sitting contains, at most ${SITTING_REACH} turns away`, () => {
    const long = sequenceOf(...Array.from({ length: 60 }, (_, i) => turn(i, i === 0 ? [7] : i === 59 ? [8] : [1])))
    expect(at(long, SITTING_REACH).sitting).toBeCloseTo(idf[0]! / (idf[0]! + idf[1]!), 10)
    expect(at(long, SITTING_REACH + 1).sitting).toBe(0)
    expect(at(sequenceOf(turn(1, [7]), turn(2, [8])), 0).sitting).toBe(1)
  })
  it('has the similarities of its adjacent turns that have a vector', () => {
    const sequence = sequenceOf(turn(1, []), turn(2, []), turn(3, []))
    const similarity = ({ seq }: IndexedTurn) => (seq === 3 ? null : seq / 10)
    expect(at(sequence, 1, { similarity })).toMatchObject({ similarity: 0.2, neighbourSimilarities: [0.1] })
    expect(at(sequence, 2, { similarity })).toMatchObject({ similarity: null, neighbourSimilarities: [0.2] })
  })
  it('is an answer if the turn before it asks a question', () => {
    const sequence = sequenceOf(turn(1, [], { cues: Cue.ASKS }), turn(2, []), turn(3, []))
    expect([0, 1, 2].map((index) => at(sequence, index).answers)).toEqual([false, true, false])
  })
})
