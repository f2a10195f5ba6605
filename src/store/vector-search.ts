// The port to vectors of turns: kept in the table turn_vector, whoever searches them. Two adapters: postgres-vectors.ts
// and embedded-vectors.ts, both held to test/contract/vector-search.ts. A vector is of length 1 and of one embedder;
// those of different embedders are never compared.

import type { Role } from './generated/enums.ts'
import type { Viewer } from './viewer.ts'

/** A turn's place: its conversation, that of its first version, its own. */
export type Place = { conversationId: string; rootSeq: number; seq: number }

/** What turns must meet; null and left out mean any. */
export type SearchFilter = {
  actors?: readonly string[] | null
  roles?: readonly Role[] | null
  since?: Date | null
  /** Exclusive. */
  until?: Date | null
  /** What the turn's metadata must contain. */
  metadata?: object | null
}

/** How the nearest were found: every candidate compared, or those that an index led to. */
export type How = 'EXACT' | 'APPROXIMATE'

export type Found = Place & { similarity: number }

export type VectorSearch = {
  /**
   * Cosine similarity to the unit vector `query` of every turn of those conversations that has a vector: by conversation, then seq. A
   * conversation without any may have no key. Exact, and blind to views: callers look up only turns that they know to be
   * visible. For scopes of a few thousand turns.
   */
  scan(
    embedder: string,
    conversationIds: readonly string[],
    query: Float32Array,
  ): Promise<Map<string, Map<number, number>>>
  /** The similarity of just those turns, by `placeKey`; who has no vector has no key. Exact, and blind to views. */
  of(embedder: string, places: readonly Place[], query: Float32Array): Promise<Map<string, number>>
  /**
   * The `limit` nearest turns of those conversations, best first: committed, seen by the viewer, the newest version that they
   * see, and meeting the filter. Fewer only where there are fewer.
   */
  nearest(
    embedder: string,
    viewer: Viewer,
    conversationIds: readonly string[],
    query: Float32Array,
    limit: number,
    filter: SearchFilter,
  ): Promise<{ how: How; found: Found[] }>
  /** Keeps vectors. A turn that has one keeps it; a conversation that is gone is passed over. */
  write(embedder: string, vectors: readonly (Place & { vector: Float32Array })[]): Promise<void>
  /** Forgets what this process holds in memory of a conversation. */
  forget(conversationId: string): void
}

/** Names a turn in a Map. */
export const placeKey = ({ conversationId, seq }: { conversationId: string; seq: number }) => `${conversationId} ${seq}`
