// The port for searching vectors of turns, which are stored in the table turn_vector. Two adapters, postgres-vectors.ts
// and embedded-vectors.ts, are both tested by test/contract/vector-search.ts. Vectors have length 1; vectors of
// different embedders are never compared.

import type { Role } from './generated/enums.ts'
import type { Viewer } from './viewer.ts'

/** A turn's place: its conversation, the seq of its first version and its own seq. */
export type Place = { conversationId: string; rootSeq: number; seq: number }

/** Conditions on turns; null or omitted means any. */
export type SearchFilter = {
  actors?: readonly string[] | null
  roles?: readonly Role[] | null
  since?: Date | null
  /** Exclusive. */
  until?: Date | null
  /** Object that the turn's metadata must contain. */
  metadata?: object | null
}

/** Whether the search compared every candidate (EXACT), or only those that an index returned (APPROXIMATE). */
export type How = 'EXACT' | 'APPROXIMATE'

export type Found = Place & { similarity: number }

export type VectorSearch = {
  /**
   * Cosine similarity to the unit vector `query` of every turn of the conversations that has a vector, by conversation,
   * then seq. A conversation without vectors may have no key. Exact. Not narrowed to a view: callers look up only turns
   * that the viewer sees. For scopes of a few thousand turns.
   */
  scan(
    embedder: string,
    conversationIds: readonly string[],
    query: Float32Array,
  ): Promise<Map<string, Map<number, number>>>
  /**
   * Similarity of the given turns, by `placeKey`; a turn without a vector has no key. Exact. Not narrowed to a view.
   */
  of(embedder: string, places: readonly Place[], query: Float32Array): Promise<Map<string, number>>
  /**
   * The `limit` nearest turns of the conversations, best first: committed turns that match the filter, in the newest
   * version that the viewer sees. Fewer only if fewer match.
   */
  nearest(
    embedder: string,
    viewer: Viewer,
    conversationIds: readonly string[],
    query: Float32Array,
    limit: number,
    filter: SearchFilter,
  ): Promise<{ how: How; found: Found[] }>
  /** Stores vectors. A turn that has a vector keeps it; vectors of deleted conversations are skipped. */
  write(embedder: string, vectors: readonly (Place & { vector: Float32Array })[]): Promise<void>
  /** Removes a conversation from this process's memory. */
  forget(conversationId: string): void
}

/** Map key of a turn. */
export const placeKey = ({ conversationId, seq }: { conversationId: string; seq: number }) => `${conversationId} ${seq}`
