// The port for searching the vectors of turns, which are stored in the table turn_vector. It has two adapters,
// postgres-vectors.ts and embedded-vectors.ts; test/contract/vector-search.ts tests both. Vectors have length 1.
// Vectors of different embedders are never compared.

import type { Scope, Viewer } from '../db/scope.ts'
import type { Role } from '../generated/enums.ts'
import type { MetadataConditions } from '../sql/kernel/metadata.ts'

/** Identifies a turn version: its conversation, the seq of the turn's first version, and its own seq. */
export type TurnVersionId = { conversationId: string; position: number; seq: number }

/** Conditions on turns. Null and omitted conditions match all turns. */
export type SearchFilter = {
  actors?: readonly string[] | null
  roles?: readonly Role[] | null
  /** Minimum creation time, inclusive. */
  since?: Date | null
  /** Maximum creation time, exclusive. */
  until?: Date | null
  /** Conditions that the turn's metadata must meet. */
  metadata?: MetadataConditions | null
  /** Excludes turns whose first version was written later, by the database's clock. */
  writtenBy?: Date | null
}

/** Whether the search compared every candidate (EXACT), or only those that an index returned (APPROXIMATE). */
export type SearchMethod = 'EXACT' | 'APPROXIMATE'

/** A turn version and its cosine similarity to the query. */
export type FoundTurn = TurnVersionId & { similarity: number }

/** The vector of a query, and the name of its embedder. */
export type QueryVector = { embedder: string; query: Float32Array }

export type VectorSearch = {
  /**
   * Compares the vectors of the given turns with the query, exactly. Returns cosine similarities by `versionKey`; a turn
   * without a vector has no key. Not limited to a view.
   */
  compare(scope: Scope, vector: QueryVector, versions: readonly TurnVersionId[]): Promise<Map<string, number>>
  /**
   * Returns the `limit` turns of the conversations that are most similar to the query, best first. Considers committed
   * turns that match the filter, each in the newest version that the viewer sees. Returns fewer only if fewer match.
   */
  nearest(
    viewer: Viewer,
    conversationIds: readonly string[],
    vector: QueryVector,
    options: { limit: number; filter: SearchFilter },
  ): Promise<{ method: SearchMethod; found: FoundTurn[] }>
  /** Stores vectors. Skips turns that have a vector of the embedder, and deleted conversations. */
  write(embedder: string, vectors: readonly (TurnVersionId & { vector: Float32Array })[]): Promise<void>
  /** Removes the vectors of a deleted conversation from this process's memory. */
  forget(conversationId: string): void
  /** Size of the vectors that this process keeps in memory, in bytes. */
  cacheBytes(): number
}

/** Map key of a turn version. */
export const versionKey = ({ conversationId, seq }: { conversationId: string; seq: number }) =>
  `${conversationId} ${seq}`
