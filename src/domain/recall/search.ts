// A search for turns: its request, its result, and how the best matches are selected. Pure.

import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import type { NamedParticipant } from '../../store/sql/recall/read-turn-index.ts'
import type { SearchFilter } from '../../store/vector-search.ts'
import type { Statistics } from './bm25.ts'
import type { RecallDeps } from './deps.ts'
import type { QueryTerms } from './query-terms.ts'

export type GatherDeps = Pick<RecallDeps, 'pool' | 'vectors' | 'gates' | 'embedding' | 'indexes'>

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
  sequences: IndexedTurn[][]
  /** For each sequence, the indexes of its candidates. */
  candidates: number[][]
  statistics: Statistics
  /** Returns the cosine of the query and the turn; null if either has no vector. */
  similarity(turn: IndexedTurn): number | null
  /** Participants of the candidates' conversations. */
  participants: readonly NamedParticipant[]
  vectorSearch: 'EXACT' | 'APPROXIMATE' | 'NONE'
}

/** Returns the elements with positive scores, best first, at most `max`. Of equal scores, the first ones are kept. */
export function best<T>(all: readonly T[], scoreOf: (each: T) => number, max: number): T[] {
  // Insert into a short sorted list, because sorting all turns of a wide scope would take tens of milliseconds.
  const top: { each: T; score: number }[] = []
  for (const each of all) {
    const score = scoreOf(each)
    if (score <= 0 || (top.length === max && score <= top[max - 1]!.score)) continue
    let at = top.length
    while (at > 0 && top[at - 1]!.score < score) at -= 1
    top.splice(at, 0, { each, score })
    if (top.length > max) top.pop()
  }
  return top.map(({ each }) => each)
}

/** Returns a function that says whether a turn is not the query's. */
export const isOther = (queryTurn: TurnPlace | null) => (turn: TurnPlace) =>
  turn.position !== queryTurn?.position || turn.conversationId !== queryTurn.conversationId
