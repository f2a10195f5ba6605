// A turn's neighbours and session, on sequences small enough to count by hand.

import { describe, expect, it } from 'vitest'
import { bm25, inverseDocumentFrequencies } from '../../../../../../src/domain/memory/recall/rank/bm25.ts'
import {
  candidateAt,
  featuresOf,
  SESSION_REACH,
  statisticsOf,
  withNeighbours,
  type TurnSearch,
} from '../../../../../../src/domain/memory/recall/rank/features.ts'
import { Cue } from '../../../../../../src/domain/memory/indexing/cues.ts'
import { matchesOf, withoutTurn, type Sequence } from '../../../../../../src/domain/memory/recall/index/sequence.ts'
import {
  emptyTurns,
  numbering,
  turnAt,
  type IndexedTurn,
} from '../../../../../../src/store/sql/memory/recall/indexed-turns.ts'
import { TermCounter } from '../../../../../../src/text/words/hashed-terms.ts'

const MINUTE = 60_000
/** The index of each term of the query. */
const QUERY = new Map([
  [7, 0],
  [8, 1],
])

type TurnInput = IndexedTurn & { terms: number[]; eligible: boolean; similarity: number | null }

const turn = (seq: number, terms: number[], more: Partial<TurnInput> = {}): TurnInput => ({
  conversationId: 'r',
  position: seq,
  seq,
  at: seq * MINUTE,
  actor: 'ann',
  tokens: 1,
  cues: 0,
  length: terms.length,
  terms,
  eligible: true,
  similarity: null,
  ...more,
})
function sequenceOf(...inputs: TurnInput[]): Sequence {
  const counter = new TermCounter(QUERY, inputs.length)
  for (const { terms } of inputs) {
    for (const term of terms) counter.add(term)
    counter.endText()
  }
  const entries = emptyTurns('r', inputs.length)
  const actorNumber = numbering(entries.names)
  for (const [index, { position, seq, at, actor, tokens, cues, length }] of inputs.entries()) {
    entries.positions[index] = position
    entries.seqs[index] = seq
    entries.times[index] = at
    entries.actors[index] = actorNumber(actor)
    entries.tokens[index] = tokens
    entries.cues[index] = cues
    entries.lengths[index] = length
  }
  return {
    entries,
    turns: Int32Array.from(inputs.keys()),
    eligible: Uint8Array.from(inputs, ({ eligible }) => Number(eligible)),
    similarities: Float64Array.from(inputs, ({ similarity }) => similarity ?? NaN),
    matches: matchesOf(counter.finish(), inputs.length, QUERY.size),
  }
}

const scope = { texts: 100, documentFrequencies: [2, 60], averageLength: 4 }
const idf = inverseDocumentFrequencies(scope)
const search: TurnSearch = { idf, averageLength: 4, namesActor: () => false }

describe('statistics', () => {
  it('sum up a scope: the turns that contain a term, and the length of the matching turns', () => {
    const one = sequenceOf(turn(1, [7, 7, 1]), turn(2, [7, 8, 1, 1, 1]))
    expect(statisticsOf(2, [one, sequenceOf(turn(3, [1, 1, 1]))])).toEqual({
      texts: 3,
      documentFrequencies: [2, 1],
      averageLength: 4,
    })
  })
  it('are empty for an empty scope', () => {
    expect(statisticsOf(2, [])).toEqual({ texts: 0, documentFrequencies: [0, 0], averageLength: 1 })
  })
})

describe('the neighbours of a match', () => {
  const inputs = Array.from({ length: 9 }, (_, i) => turn(i, [1], { eligible: i !== 3 }))
  const sequence = sequenceOf(...inputs)
  it('are at most three turns on each side, and only turns that may be hits', () => {
    expect([...withNeighbours(sequence, [4])]).toEqual([1, 2, 4, 5, 6, 7])
  })
  it('are in the same session', () => {
    const later = [5, 6].map((seq) => turn(seq, [1], { at: 10_000 * MINUTE }))
    expect([...withNeighbours(sequenceOf(...inputs.slice(0, 5), ...later), [4])]).toEqual([1, 2, 4])
  })
  it('are listed once if two matches share them', () => {
    expect([...withNeighbours(sequence, [0, 1])]).toEqual([0, 1, 2, 4])
  })
})

it('a sequence from which a turn was removed equals one that never contained it', () => {
  const inputs = [[7, 8], [], [8, 8, 1], [1]].map((terms, seq) => turn(seq, terms, { similarity: seq / 10 }))
  for (const left of inputs) {
    const { entries, turns, ...rest } = sequenceOf(...inputs.filter((each) => each !== left))
    const { entries: all, turns: kept, ...others } = withoutTurn(sequenceOf(...inputs), inputs.indexOf(left))
    expect(others).toEqual(rest)
    expect([...kept].map((turn) => turnAt(all, turn))).toEqual([...turns].map((turn) => turnAt(entries, turn)))
  }
})

describe('a candidate', () => {
  const at = (sequence: Sequence, place: number) => candidateAt(featuresOf(search, sequence, Int32Array.of(place)), 0)

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
  it('ignores turns of another session', () => {
    const sequence = sequenceOf(
      turn(1, [7], { cues: Cue.ASKS }),
      turn(2, [1], { at: 62 * MINUTE, similarity: 0.5 }),
      turn(3, [8], { at: 200 * MINUTE, similarity: 0.9 }),
    )
    expect(at(sequence, 1)).toMatchObject({ bm25: 0, session: 0, similarityWithNeighbours: 0.5, answers: false })
  })
  it('shares a session with turns less than an hour before', () => {
    const sequence = sequenceOf(turn(1, [7], { at: 0 }), turn(2, [1], { at: 60 * MINUTE - 1 }))
    expect(at(sequence, 1).bm25).toBeGreaterThan(0)
  })
  it(`has the share of the query that its session contains, at most ${SESSION_REACH} turns away`, () => {
    const long = sequenceOf(...Array.from({ length: 60 }, (_, i) => turn(i, i === 0 ? [7] : i === 59 ? [8] : [1])))
    expect(at(long, SESSION_REACH).session).toBeCloseTo(idf[0]! / (idf[0]! + idf[1]!), 10)
    expect(at(long, SESSION_REACH + 1).session).toBe(0)
    expect(at(sequenceOf(turn(1, [7]), turn(2, [8])), 0).session).toBe(1)
  })
  it('has the mean of its similarity and half of those of its adjacent turns that have a vector', () => {
    const sequence = sequenceOf(
      turn(1, [], { similarity: 0.1 }),
      turn(2, [], { similarity: 0.2 }),
      turn(3, [], { similarity: null }),
    )
    const similaritiesAt = (index: number) => {
      const { similarity, similarityWithNeighbours } = at(sequence, index)
      return [similarity, similarityWithNeighbours]
    }
    expect(similaritiesAt(0)).toEqual([0.1, expect.closeTo((0.1 + 0.2 / 2) / 1.5, 10)])
    expect(similaritiesAt(1)).toEqual([0.2, expect.closeTo((0.2 + 0.1 / 2) / 1.5, 10)])
    expect(similaritiesAt(2)).toEqual([null, expect.closeTo(0.2 / 2 / 1.5, 10)])
  })
  it('is an answer if the turn before it asks a question', () => {
    const sequence = sequenceOf(turn(1, [], { cues: Cue.ASKS }), turn(2, []), turn(3, []))
    expect([0, 1, 2].map((index) => at(sequence, index).answers)).toEqual([false, true, false])
  })
})
