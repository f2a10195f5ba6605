// From turns as the index knows them to what ranking weighs: each turn with its surroundings and its sitting. Pure. A
// stretch is turns of one conversation in order, as the viewer sees them; nothing beyond it is looked at.

import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import { averageSurrounded, bm25, coverage, REACH, weightAt, type Statistics } from './bm25.ts'
import { Cue } from '../indexing/cues.ts'
import type { RankCandidate } from './rank.ts'

/** Turns with less than this between them are of one sitting, ms. */
const SITTING_GAP_MS = 60 * 60 * 1000
/** Turns before and after that make up a turn's sitting at most. */
export const SITTING_REACH = 20

/** The statistics of a scope that was read whole, for that many terms. */
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

/** How a turn's own words match. */
export const ownScore = (rarity: readonly number[], averageLength: number, { counts, length }: IndexedTurn): number =>
  counts.size === 0 ? 0 : bm25(rarity, counts, length, averageLength)

/** Whether two turns that follow each other are of one sitting. */
const together = (one: IndexedTurn, next: IndexedTurn) => Math.abs(next.at - one.at) < SITTING_GAP_MS

/**
 * The places in the stretch from `first` to `last` that are of one sitting with that at `index`, at most `reach` away.
 */
function sittingAround(stretch: readonly IndexedTurn[], index: number, reach: number): { first: number; last: number } {
  let [first, last] = [index, index]
  while (first > 0 && index - first < reach && together(stretch[first - 1]!, stretch[first]!)) first -= 1
  while (last < stretch.length - 1 && last - index < reach && together(stretch[last]!, stretch[last + 1]!)) last += 1
  return { first, last }
}

/** What to weigh: the turns found by words or by vectors, and those near them in the same sitting that may be hits. */
export function withNeighbours(stretch: readonly IndexedTurn[], isFound: (turn: IndexedTurn) => boolean): number[] {
  const chosen = new Set<number>()
  stretch.forEach((turn, index) => {
    if (!isFound(turn)) return
    const { first, last } = sittingAround(stretch, index, REACH)
    for (let near = first; near <= last; near++) if (stretch[near]!.eligible) chosen.add(near)
  })
  return [...chosen]
}

/** What scoring a turn needs of the whole search. */
export type TurnSearch = {
  /** Of each of the query's terms (bm25.ts). */
  rarity: readonly number[]
  averageLength: number
  /** Whether the query names who says such turns. */
  names(turn: IndexedTurn): boolean
  /** Cosine of the query and the turn; null where the turn has no vector. */
  similarity(turn: IndexedTurn): number | null
}

export type TurnCandidate = RankCandidate & { turn: IndexedTurn; stretch: readonly IndexedTurn[]; index: number }

/** A turn of a stretch, with its surroundings. */
export function toTurnCandidate(search: TurnSearch, stretch: readonly IndexedTurn[], index: number): TurnCandidate {
  const turn = stretch[index]!
  const { first, last } = sittingAround(stretch, index, SITTING_REACH)
  const near = stretch.slice(Math.max(first, index - REACH), Math.min(last, index + REACH) + 1)
  const place = index - Math.max(first, index - REACH)

  const counts = new Map<number, number>()
  let length = 0
  near.forEach((each, at) => {
    const weight = weightAt(Math.abs(at - place))
    length += weight * each.length
    for (const [term, count] of each.counts) counts.set(term, (counts.get(term) ?? 0) + weight * count)
  })
  const held = new Set<number>()
  for (let at = first; at <= last; at++) for (const term of stretch[at]!.counts.keys()) held.add(term)
  const beside = [near[place - 1], near[place + 1]].filter((each) => each !== undefined)

  return {
    turn,
    stretch,
    index,
    named: search.names(turn),
    at: turn.at,
    cues: turn.cues,
    length: turn.length,
    text: counts.size === 0 ? 0 : bm25(search.rarity, counts, length, averageSurrounded(search.averageLength)),
    sitting: coverage(search.rarity, held),
    similarity: search.similarity(turn),
    beside: beside.map((each) => search.similarity(each)).filter((each) => each !== null),
    answers: place > 0 && (near[place - 1]!.cues & Cue.ASKS) !== 0,
  }
}
