// Converts indexed turns into ranking candidates, with the features of their neighbours and their sitting. Pure. A
// sitting is a part of a sequence without long gaps.

import { Cue } from '../indexing/cues.ts'
import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import { averageLengthWithNeighbours, normOf, REACH, termScore, weightAt, type Statistics } from './bm25.ts'
import type { RankCandidate } from './rank.ts'
import type { Sequence } from './sequence.ts'

/** Maximum gap in milliseconds between consecutive turns of one sitting. */
const SITTING_GAP_MS = 60 * 60 * 1000
/** Maximum number of turns on each side that belong to a turn's sitting. */
export const SITTING_REACH = 20
/** Weight of each adjacent turn in a turn's similarity, because short turns mean little alone. */
const NEIGHBOUR_WEIGHT = 0.5

/** Returns the statistics of a scope that was read completely. `terms` is the number of query terms. */
export function statisticsOf(terms: number, scope: readonly Sequence[]): Statistics {
  const documentFrequencies = new Array<number>(terms).fill(0)
  let [texts, matching, length] = [0, 0, 0]
  for (const { turns, counts } of scope) {
    texts += turns.length
    for (let entry = 0; entry < counts.starts[turns.length]!; entry++) documentFrequencies[counts.terms[entry]!]! += 1
    for (let index = 0; index < turns.length; index++) {
      if (counts.starts[index] === counts.starts[index + 1]) continue
      matching += 1
      length += turns[index]!.length
    }
  }
  return { texts, documentFrequencies, averageLength: matching ? length / matching : 1 }
}

/** Returns the BM25 score of the turn at `index` without its neighbours. */
export function ownScore(
  idf: readonly number[],
  averageLength: number,
  { turns, counts: { starts, terms, counts } }: Sequence,
  index: number,
): number {
  let score = 0
  const norm = normOf(turns[index]!.length, averageLength)
  for (let entry = starts[index]!; entry < starts[index + 1]!; entry++) {
    score += termScore(idf[terms[entry]!]!, counts[entry]!, norm)
  }
  return score
}

/** Whether two consecutive turns belong to one sitting. */
const isSameSitting = (one: IndexedTurn, next: IndexedTurn) => Math.abs(next.at - one.at) < SITTING_GAP_MS

/** Returns the first index of the sitting around `index`, at most `reach` before it. */
function sittingStart(turns: readonly IndexedTurn[], index: number, reach: number): number {
  let first = index
  while (first > 0 && index - first < reach && isSameSitting(turns[first - 1]!, turns[first]!)) first -= 1
  return first
}

/** Returns the last index of the sitting around `index`, at most `reach` after it. */
function sittingEnd(turns: readonly IndexedTurn[], index: number, reach: number): number {
  let last = index
  while (last < turns.length - 1 && last - index < reach && isSameSitting(turns[last]!, turns[last + 1]!)) last += 1
  return last
}

/** Returns the indexes of the eligible turns among the found turns and their neighbours in the same sitting. */
export function withNeighbours({ turns, eligible }: Sequence, found: Iterable<number>): number[] {
  const chosen = new Set<number>()
  for (const index of found) {
    const last = sittingEnd(turns, index, REACH)
    for (let at = sittingStart(turns, index, REACH); at <= last; at++) if (eligible[at] === 1) chosen.add(at)
  }
  return [...chosen]
}

/** The properties of a search that the features of a turn depend on. */
export type TurnSearch = {
  /** Inverse document frequency of each query term, by the term's index. */
  idf: readonly number[]
  /** Average number of terms of the turns that contain a query term, without their neighbours. */
  averageLength: number
  /** Returns whether the query names the turn's actor. */
  namesActor(turn: IndexedTurn): boolean
}

export type TurnCandidate = RankCandidate & { kind: 'TURN'; turn: IndexedTurn; sequence: Sequence; index: number }

/** Sums up the terms of some turns. Reused for all candidates of a search, because there may be a thousand. */
class TermSums {
  readonly #idf: readonly number[]
  readonly #sums: Float64Array
  readonly #all: number

  constructor(idf: readonly number[]) {
    this.#idf = idf
    this.#sums = new Float64Array(idf.length)
    this.#all = idf.reduce((sum, weight) => sum + weight, 0)
  }

  clear(): void {
    this.#sums.fill(0)
  }

  add({ counts: { starts, terms, counts } }: Sequence, index: number, weight: number): void {
    for (let entry = starts[index]!; entry < starts[index + 1]!; entry++) {
      this.#sums[terms[entry]!]! += weight * counts[entry]!
    }
  }

  bm25(length: number, averageLength: number): number {
    const norm = normOf(length, averageLength)
    let score = 0
    for (let term = 0; term < this.#sums.length; term++) {
      if (this.#sums[term]! > 0) score += termScore(this.#idf[term]!, this.#sums[term]!, norm)
    }
    return score
  }

  /** Returns the share of the query that the terms make up, weighted by inverse document frequency: 0 to 1. */
  queryShare(): number {
    let part = 0
    for (let term = 0; term < this.#sums.length; term++) if (this.#sums[term]! > 0) part += this.#idf[term]!
    return this.#all === 0 ? 0 : part / this.#all
  }
}

/** Returns a function that computes the ranking features of the turn at an index of a sequence. */
export function candidateReader(search: TurnSearch): (sequence: Sequence, index: number) => TurnCandidate {
  const sums = new TermSums(search.idf)
  const averageLength = averageLengthWithNeighbours(search.averageLength)
  return (sequence, index) => {
    const { turns, similarities } = sequence
    const turn = turns[index]!
    const [first, last] = [sittingStart(turns, index, SITTING_REACH), sittingEnd(turns, index, SITTING_REACH)]

    sums.clear()
    let length = 0
    for (let at = Math.max(first, index - REACH); at <= Math.min(last, index + REACH); at++) {
      const weight = weightAt(Math.abs(at - index))
      length += weight * turns[at]!.length
      sums.add(sequence, at, weight)
    }
    const bm25 = sums.bm25(length, averageLength)
    sums.clear()
    for (let at = first; at <= last; at++) sums.add(sequence, at, 1)
    const sitting = sums.queryShare()
    sums.clear()
    sums.add(sequence, index, 1)
    const own = sums.queryShare()

    const similarity = similarities[index]!
    let [total, weights] = [Number.isNaN(similarity) ? 0 : similarity, 1]
    for (const at of [index - 1, index + 1]) {
      if (at < first || at > last || Number.isNaN(similarities[at])) continue
      total += NEIGHBOUR_WEIGHT * similarities[at]!
      weights += NEIGHBOUR_WEIGHT
    }
    return {
      kind: 'TURN',
      turn,
      sequence,
      index,
      named: search.namesActor(turn),
      at: turn.at,
      cues: turn.cues,
      length: turn.length,
      bm25,
      sitting,
      own,
      similarity: Number.isNaN(similarity) ? null : similarity,
      similarityWithNeighbours: total / weights,
      answers: index > first && (turns[index - 1]!.cues & Cue.ASKS) !== 0,
    }
  }
}
