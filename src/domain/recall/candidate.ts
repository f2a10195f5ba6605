// Converts indexed turns into ranking candidates, with the features of their neighbours and their sitting. Pure. A
// sequence is an ordered run of consecutive turns in one conversation, as the viewer sees them. A sitting is a part of
// a sequence without long gaps.

import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import { averageLengthWithNeighbours, bm25, queryShare, REACH, weightAt, type Statistics } from './bm25.ts'
import { Cue } from '../indexing/cues.ts'
import type { RankCandidate } from './rank.ts'

/** Maximum gap in milliseconds between consecutive turns of one sitting. */
const SITTING_GAP_MS = 60 * 60 * 1000
/** Maximum number of turns on each side that belong to a turn's sitting. */
export const SITTING_REACH = 20

/** Returns the statistics of a scope that was read completely. `terms` is the number of query terms. */
export function statisticsOf(terms: number, scope: readonly IndexedTurn[]): Statistics {
  const documentFrequencies = new Array<number>(terms).fill(0)
  let [matching, length] = [0, 0]
  for (const turn of scope) {
    for (const term of turn.counts.keys()) documentFrequencies[term]! += 1
    if (turn.counts.size === 0) continue
    matching += 1
    length += turn.length
  }
  return { texts: scope.length, documentFrequencies, averageLength: matching ? length / matching : 1 }
}

/** Returns the BM25 score of a turn without its neighbours. */
export const ownScore = (idf: readonly number[], averageLength: number, { counts, length }: IndexedTurn): number =>
  counts.size === 0 ? 0 : bm25(idf, counts, length, averageLength)

/** Whether two consecutive turns belong to one sitting. */
const isSameSitting = (one: IndexedTurn, next: IndexedTurn) => Math.abs(next.at - one.at) < SITTING_GAP_MS

/** Returns the first and last index of the sitting around `index`, at most `reach` away from it. */
function sittingAround(
  sequence: readonly IndexedTurn[],
  index: number,
  reach: number,
): { first: number; last: number } {
  let [first, last] = [index, index]
  while (first > 0 && index - first < reach && isSameSitting(sequence[first - 1]!, sequence[first]!)) first -= 1
  while (last < sequence.length - 1 && last - index < reach && isSameSitting(sequence[last]!, sequence[last + 1]!))
    last += 1
  return { first, last }
}

/** Returns the indexes of the eligible turns among the found turns and their neighbours in the same sitting. */
export function withNeighbours(sequence: readonly IndexedTurn[], isFound: (turn: IndexedTurn) => boolean): number[] {
  const chosen = new Set<number>()
  sequence.forEach((turn, index) => {
    if (!isFound(turn)) return
    const { first, last } = sittingAround(sequence, index, REACH)
    for (let at = first; at <= last; at++) if (sequence[at]!.eligible) chosen.add(at)
  })
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
  /** Returns the cosine similarity of the query's and the turn's embeddings; null if either has none. */
  similarity(turn: IndexedTurn): number | null
}

export type TurnCandidate = RankCandidate & { turn: IndexedTurn; sequence: readonly IndexedTurn[]; index: number }

/** Computes the ranking features of the turn at `index`. */
export function toTurnCandidate(search: TurnSearch, sequence: readonly IndexedTurn[], index: number): TurnCandidate {
  const turn = sequence[index]!
  const { first, last } = sittingAround(sequence, index, SITTING_REACH)
  const neighbourhood = sequence.slice(Math.max(first, index - REACH), Math.min(last, index + REACH) + 1)
  const center = index - Math.max(first, index - REACH)

  const counts = new Map<number, number>()
  let length = 0
  neighbourhood.forEach((each, at) => {
    const weight = weightAt(Math.abs(at - center))
    length += weight * each.length
    for (const [term, count] of each.counts) counts.set(term, (counts.get(term) ?? 0) + weight * count)
  })
  const sittingTerms = new Set<number>()
  for (let at = first; at <= last; at++) for (const term of sequence[at]!.counts.keys()) sittingTerms.add(term)
  const adjacent = [neighbourhood[center - 1], neighbourhood[center + 1]].filter((each) => each !== undefined)

  return {
    turn,
    sequence,
    index,
    named: search.namesActor(turn),
    at: turn.at,
    cues: turn.cues,
    length: turn.length,
    bm25: counts.size === 0 ? 0 : bm25(search.idf, counts, length, averageLengthWithNeighbours(search.averageLength)),
    sitting: queryShare(search.idf, sittingTerms),
    own: queryShare(search.idf, new Set(turn.counts.keys())),
    similarity: search.similarity(turn),
    neighbourSimilarities: adjacent.map((each) => search.similarity(each)).filter((each) => each !== null),
    answers: center > 0 && (neighbourhood[center - 1]!.cues & Cue.ASKS) !== 0,
  }
}
