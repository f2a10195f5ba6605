// Defines the request and the result of a search for turns, and selects the best matches. Pure.

import type { QueryVector, SearchFilter, TurnVersionId } from '../../../../store/vectors/vector-search.ts'
import type { ScopeConversation } from '../../../../store/sql/memory/recall/scope.ts'
import type { Statistics } from '../rank/bm25.ts'
import type { RecallDeps } from '../deps.ts'
import type { NamedActor } from '../rank/question.ts'
import type { QueryTerms } from './query.ts'
import { withoutTurn, type Sequence } from '../index/sequence.ts'

export type GatherDeps = Pick<RecallDeps, 'pool' | 'vectors' | 'gates' | 'embedding' | 'indexes'>

/** Identifies a turn in all its versions. */
export type TurnPlace = { conversationId: string; position: number }

/** A search by words and by vectors. */
export type SearchRequest = {
  terms: QueryTerms
  /** The query's vector and its embedder; null if the vector is all zeros or the embedder is unavailable. */
  vector: QueryVector | null
  filter: SearchFilter
  /** Number of turns (or facts) to take from each search, by words and by vectors. */
  limit: number
  /** The turn that the query was taken from, which is neither a candidate nor a neighbour; null if there is none. */
  queryTurn: TurnPlace | null
}

/** A search, and the text of its query, from which ranking reads names and times. */
export type RecallRequest = SearchRequest & { query: string }

/** The conversations that are searched. `limits` are the sizes of scopes that are searched in memory, by default LIMITS. */
export type SearchScope = { conversations: readonly ScopeConversation[]; limits?: { small: number; memory: number } }

export type GatheredTurns = {
  sequences: Sequence[]
  /** The places of the candidates in each sequence, ascending. No turn is a candidate in two sequences. */
  candidates: Int32Array[]
  statistics: Statistics
  /** Current and former participants of the candidates' conversations. */
  participants: readonly NamedActor[]
  vectorSearch: 'EXACT' | 'APPROXIMATE' | 'NONE'
}

/** The result of searching a scope by words, or in memory also by vectors. */
export type TurnSearch = {
  statistics: Statistics
  /** The turns that match the query best. May contain the query's turn. */
  found: readonly TurnVersionId[]
  /**
   * Returns the sequences that contain the given turns and the turns around them that ranking needs, without the query's
   * turn. The candidates are the given turns and their neighbours. The similarities are NaN after a search by words.
   */
  around(turns: readonly TurnVersionId[]): Promise<Pick<GatheredTurns, 'sequences' | 'candidates' | 'participants'>>
}

/**
 * Returns the indexes of the `max` highest positive scores, highest first; at equal scores, the lower index first.
 * `max` must be at least 1.
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

/** Whether the turn is not the query's turn. */
export const isOther = (queryTurn: TurnPlace | null, turn: TurnPlace): boolean =>
  turn.position !== queryTurn?.position || turn.conversationId !== queryTurn.conversationId

/** Returns the sequence without the query's turn. */
export function withoutQueryTurn(queryTurn: TurnPlace | null, sequence: Sequence): Sequence {
  const { entries, turns } = sequence
  if (entries.conversationId !== queryTurn?.conversationId) return sequence
  const place = turns.findIndex((turn) => entries.positions[turn] === queryTurn.position)
  return place < 0 ? sequence : withoutTurn(sequence, place)
}
