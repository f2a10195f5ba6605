// A search for turns: its request, its result, and how the best matches are selected. Pure.

import type { SearchFilter, TurnVersionId } from '../../store/vector-search.ts'
import type { Statistics } from './bm25.ts'
import type { RecallDeps } from './deps.ts'
import type { NamedActor } from './named-actor.ts'
import type { QueryTerms } from './query-terms.ts'
import { withoutTurn, type Sequence } from './sequence.ts'

export type GatherDeps = Pick<RecallDeps, 'pool' | 'vectors' | 'gates' | 'embedding' | 'indexes' | 'words'>

/** Identifies a turn, regardless of its versions. */
export type TurnPlace = { conversationId: string; position: number }

/** A search by words and by vectors. */
export type SearchRequest = {
  terms: QueryTerms
  /** The query's vector and its embedder; null if the vector is all zeros or the embedder is unavailable. */
  vector: { embedder: string; query: Float32Array } | null
  filter: SearchFilter
  /** Number of turns (or facts) to take from each search, by words and by vectors. */
  limit: number
  /** The turn that the query was taken from, which is neither a candidate nor a neighbour; null if there is none. */
  queryTurn: TurnPlace | null
}

export type GatheredTurns = {
  sequences: Sequence[]
  /** For each sequence, the places of its candidates, ascending. No turn is a candidate twice. */
  candidates: Int32Array[]
  statistics: Statistics
  /** Participants of the candidates' conversations. */
  participants: readonly NamedActor[]
  vectorSearch: 'EXACT' | 'APPROXIMATE' | 'NONE'
}

/** The turns of a wide scope whose own words match a query best. */
export type WordSearch = {
  statistics: Statistics
  /** May contain the query's turn. */
  found: readonly TurnVersionId[]
  /**
   * Returns the turns around the given ones, as far as ranking needs them, without the query's turn; for each sequence,
   * the places of the given turns; and the participants of their conversations. Similarities are not set.
   */
  around(
    turns: readonly TurnVersionId[],
  ): Promise<{ sequences: Sequence[]; found: number[][]; participants: readonly NamedActor[] }>
}

/**
 * Returns the indexes of the highest positive scores, at most `max` (1 or more), highest first; of equal scores,
 * the first.
 */
export function best(scores: ArrayLike<number>, max: number): number[] {
  // Insert into a short sorted list, because sorting the scores of a whole scope would take ten times as long.
  const top: number[] = []
  for (let index = 0; index < scores.length; index++) {
    const score = scores[index]!
    if (!(score > 0) || (top.length === max && score <= scores[top[max - 1]!]!)) continue
    let at = top.length === max ? max - 1 : top.length
    for (; at > 0 && scores[top[at - 1]!]! < score; at--) top[at] = top[at - 1]!
    top[at] = index
  }
  return top
}

/** Whether the turn is not the query's. */
export const isOther = (queryTurn: TurnPlace | null, turn: TurnPlace): boolean =>
  turn.position !== queryTurn?.position || turn.conversationId !== queryTurn.conversationId

/** Returns the sequence without the query's turn. */
export function withoutQueryTurn(queryTurn: TurnPlace | null, sequence: Sequence): Sequence {
  const { entries, turns } = sequence
  if (entries.conversationId !== queryTurn?.conversationId) return sequence
  const place = turns.findIndex((turn) => entries.positions[turn] === queryTurn.position)
  return place < 0 ? sequence : withoutTurn(sequence, place)
}
