// Ranking: the signals that raise or lower a turn's score, and the returned breakdown of the score.

import { describe, expect, it } from 'vitest'
import { Cue } from '../../../../../../src/domain/memory/indexing/cues.ts'
import { readQuestion } from '../../../../../../src/domain/memory/recall/rank/question.ts'
import { rank, WEIGHTS, type RankCandidate } from '../../../../../../src/domain/memory/recall/rank/rank.ts'

const at = (time: string) => Date.parse(time)
const plain: RankCandidate = {
  named: false,
  at: at('2024-01-10T00:00:00Z'),
  cues: 0,
  bm25: 5,
  matched: 1,
  session: 0.5,
  own: 0.25,
  length: 8,
  similarity: 0.2,
  similarityWithNeighbours: 0.2,
  answers: false,
  echo: false,
}
const toQuestion = (query: string) => readQuestion(query, ['ann', 'bob'], new Date('2026-11-27'))
const first = (query: string, other: Partial<RankCandidate>) =>
  rank(toQuestion(query), [
    { ...plain, id: 'plain' },
    { ...plain, at: plain.at - 1, id: 'other', ...other },
  ])[0]!.candidate.id

describe('of two turns that differ in one property, ranking puts first the turn that', () => {
  it.each<[string, string, Partial<RankCandidate>, 'plain' | 'other']>([
    ['contains more of the words', 'x', { bm25: 6 }, 'other'],
    ['is nearer in meaning, together with its neighbours', 'x', { similarityWithNeighbours: 0.4 }, 'other'],
    ['has a vector', 'x', { similarity: null, similarityWithNeighbours: 0 }, 'plain'],
    ['is by an actor named in the query', 'x', { named: true }, 'other'],
    ['is newer, if it speaks of its author, whom the query does not name', 'x', { cues: Cue.STATES_SELF }, 'plain'],
    ['is in a session about the query', 'x', { session: 0.9 }, 'other'],
    ['is from the month in the query', 'x in March 2024', { at: at('2024-03-03T00:00:00Z') }, 'other'],
    ['states a time if the query asks for one', 'when', { cues: Cue.STATES_TIME }, 'other'],
    ['is newer, if the query does not ask for the time it states', 'x', { cues: Cue.STATES_TIME }, 'plain'],
    ['states an amount if the query asks for one', 'how many', { cues: Cue.STATES_AMOUNT }, 'other'],
    ['states a name if the query asks for one', 'who', { cues: Cue.STATES_NAME }, 'other'],
    ['is not a question', 'x', { cues: Cue.ASKS, at: plain.at + 1 }, 'plain'],
    ['does not ask the query', 'x', { bm25: 9, echo: true, at: plain.at + 1 }, 'plain'],
    ['follows a question', 'x', { answers: true }, 'other'],
    ['is longer', 'x', { length: 16 }, 'other'],
    ['is newer', 'x', {}, 'plain'],
  ])('%s', (_, query, other, expected) => expect(first(query, other)).toBe(expected))
})

describe('the score breakdown', () => {
  const [best, second, third] = rank(toQuestion('x'), [
    { ...plain, id: 'a', bm25: 8 },
    { ...plain, id: 'b', bm25: 2, similarity: null, similarityWithNeighbours: 0 },
    { ...plain, id: 'c', bm25: 0, similarity: -0.5, similarityWithNeighbours: -0.5 },
  ])
  const rest = WEIGHTS.session * 0.5 + WEIGHTS.substance * 0.5

  it('shows the BM25 score relative to the best one, which contains all words, and null if no word matches', () => {
    expect([best!.textScore, second!.textScore, third!.textScore]).toEqual([1, 0.25, null])
  })
  it('shows the similarity unchanged', () => {
    expect([best, second, third].map((each) => each!.candidate.similarity)).toEqual([0.2, null, -0.5])
  })
  it('sums up to the score', () => {
    expect(best!.score).toBeCloseTo(1 + 0.2 * WEIGHTS.similarity + rest, 10)
    expect(second!.score).toBeCloseTo(0.25 + rest, 10)
    expect(third!.score).toBeCloseTo(-0.5 * WEIGHTS.similarity + rest, 10)
  })
})

it('of two turns of the actor that the query names, ranking puts first the one that speaks of its author', () => {
  const named = { ...plain, named: true }
  const ranked = rank(toQuestion('x'), [
    { ...named, id: 'about others' },
    { ...named, at: plain.at - 1, cues: Cue.STATES_SELF, id: 'about itself' },
  ])
  expect(ranked[0]!.candidate.id).toBe('about itself')
})

describe('the score by words', () => {
  const textScores = (...candidates: Partial<RankCandidate>[]) =>
    rank(
      toQuestion('x'),
      candidates.map((each) => ({ ...plain, ...each })),
    ).map(({ textScore }) => textScore)

  it('of the best match is the square root of the share of the words that it contains', () => {
    expect(textScores({ bm25: 4, matched: 0.25 }, { bm25: 2, matched: 0.2 })).toEqual([0.5, 0.25])
  })

  it('does not depend on an echo, which scores at most like the best other match', () => {
    const others = [
      { bm25: 4, matched: 0.49 },
      { bm25: 1, matched: 0.2 },
    ]
    const [best, second, echo] = textScores(...others, { bm25: 20, matched: 1, echo: true })
    expect([best, second]).toEqual(textScores(...others))
    expect(echo).toBe(best)
  })

  it('of an echo is 1 if no other candidate contains a word', () => {
    expect(textScores({ bm25: 3, echo: true })).toEqual([1])
  })
})

it('ranking no candidates returns none', () => expect(rank(toQuestion('x'), [])).toEqual([]))
