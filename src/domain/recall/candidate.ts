// Converts indexed turns into ranking candidates, with the features of their neighbours and their sitting. Pure. A
// stretch is an ordered run of consecutive turns in one conversation, as the viewer sees them. A sitting is a part of a
// stretch without long gaps.

import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import { averageSurrounded, bm25, coverage, REACH, weightAt, type Statistics } from './bm25.ts'
import { Cue } from '../indexing/cues.ts'
import type { RankCandidate } from './rank.ts'

/** Maximum gap in milliseconds between consecutive turns of one sitting. */
const SITTING_GAP_MS = 60 * 60 * 1000
/** Maximum number of turns on each side that belong to a turn's sitting. */
export const SITTING_REACH = 20

/** Returns the statistics of a scope that was read completely. `terms`: the number of query terms. */
export function statisticsOf(terms: number, scope: readonly IndexedTurn[]): Statistics {
  const holding = new Array<number>(terms).fill(0)
  let [matching, length] = [0, 0]
  for (const turn of scope) {
    for (const term of turn.counts.keys()) holding[term]! += 1
    if (turn.counts.size === 0) continue
    matching += 1
    length += turn.length
  }
  return { texts: scope.length, holding, averageLength: matching ? length / matching : 1 }
}

/** Returns the BM25 score of a turn without its neighbours. */
export const ownScore = (rarity: readonly number[], averageLength: number, { counts, length }: IndexedTurn): number =>
  counts.size === 0 ? 0 : bm25(rarity, counts, length, averageLength)

/** Whether two consecutive turns belong to one sitting. */
const isSameSitting = (one: IndexedTurn, next: IndexedTurn) => Math.abs(next.at - one.at) < SITTING_GAP_MS

/** Returns the first and last index of the sitting around `index`, at most `reach` away from it. */
function sittingAround(stretch: readonly IndexedTurn[], index: number, reach: number): { first: number; last: number } {
  let [first, last] = [index, index]
  while (first > 0 && index - first < reach && isSameSitting(stretch[first - 1]!, stretch[first]!)) first -= 1
  while (last < stretch.length - 1 && last - index < reach && isSameSitting(stretch[last]!, stretch[last + 1]!))
    last += 1
  return { first, last }
}

/** Returns the indexes of the eligible turns among the found ones and their neighbours in the same sitting. */
export function withNeighbours(stretch: readonly IndexedTurn[], isFound: (turn: IndexedTurn) => boolean): number[] {
  const chosen = new Set<number>()
  stretch.forEach((turn, index) => {
    if (!isFound(turn)) return
    const { first, last } = sittingAround(stretch, index, REACH)
    for (let at = first; at <= last; at++) if (stretch[at]!.eligible) chosen.add(at)
  })
  return [...chosen]
}

/** The properties of a search that the features of a turn depend on. */
export type TurnSearch = {
  /** Inverse document frequency of each query term, by term number. */
  rarity: readonly number[]
  /** Average number of terms in a turn without its neighbours. */
  averageLength: number
  /** Returns whether the query names the turn's actor. */
  names(turn: IndexedTurn): boolean
  /** Returns the cosine of the query and the turn; null if either has no vector. */
  similarity(turn: IndexedTurn): number | null
}

export type TurnCandidate = RankCandidate & { turn: IndexedTurn; stretch: readonly IndexedTurn[]; index: number }

/** Computes the ranking features of the turn at `index`. */
export function toTurnCandidate(search: TurnSearch, stretch: readonly IndexedTurn[], index: number): TurnCandidate {
  const turn = stretch[index]!
  const { first, last } = sittingAround(stretch, index, SITTING_REACH)
  const neighbourhood = stretch.slice(Math.max(first, index - REACH), Math.min(last, index + REACH) + 1)
  const center = index - Math.max(first, index - REACH)

  const counts = new Map<number, number>()
  let length = 0
  neighbourhood.forEach((each, at) => {
    const weight = weightAt(Math.abs(at - center))
    length += weight * each.length
    for (const [term, count] of each.counts) counts.set(term, (counts.get(term) ?? 0) + weight * count)
  })
  const sittingTerms = new Set<number>()
  for (let at = first; at <= last; at++) for (const term of stretch[at]!.counts.keys()) sittingTerms.add(term)
  const beside = [neighbourhood[center - 1], neighbourhood[center + 1]].filter((each) => each !== undefined)

  return {
    turn,
    stretch,
    index,
    named: search.names(turn),
    at: turn.at,
    cues: turn.cues,
    length: turn.length,
    text: counts.size === 0 ? 0 : bm25(search.rarity, counts, length, averageSurrounded(search.averageLength)),
    sitting: coverage(search.rarity, sittingTerms),
    similarity: search.similarity(turn),
    beside: beside.map((each) => search.similarity(each)).filter((each) => each !== null),
    answers: center > 0 && (neighbourhood[center - 1]!.cues & Cue.ASKS) !== 0,
  }
}
