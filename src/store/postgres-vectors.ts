// Vector search on Postgres. Small scopes are compared exactly; large ones use the embedder's HNSW index, if it exists.
// If the index finds fewer turns than requested, the search is repeated exactly, in case more turns match.

import type { Db } from './db.ts'
import { compareVectors } from './sql/recall/compare-vectors.ts'
import { nearestByIndex, nearestOfAll } from './sql/recall/nearest-vectors.ts'
import { countScope } from './sql/recall/count-scope.ts'
import { writeVectors } from './sql/indexing/write-vectors.ts'
import { readVectorIndex } from './vector-index.ts'
import type { VectorSearch } from './vector-search.ts'

/** Number of turns up to which an exact comparison is as fast as the index: about 2 ms. */
const EXACT_TURNS = 5_000

/** Cost of visiting one index entry (its page and the turn's row), relative to comparing one vector. */
const VISIT_COST = 20

/** Minimum number of entries that one HNSW search visits: the candidates in its queue, and their neighbours. */
const MIN_VISITS = 400

/** Milliseconds for which the state of an index is cached. */
const INDEX_CACHE_MS = 5_000

/**
 * @param reads connections for searches
 * @param exactTurns number of turns up to which a scope is always compared exactly; 0, for tests, always uses the index
 */
export function createPostgresVectors(db: Db, { reads = db, exactTurns = EXACT_TURNS } = {}): VectorSearch {
  const indexes = new Map<string, { until: number; rows: Promise<number | null> }>()

  /** Number of vectors in the embedder's index; null if there is no valid index. */
  function indexed(embedder: string): Promise<number | null> {
    const cached = indexes.get(embedder)
    if (cached && cached.until > Date.now()) return cached.rows
    const rows = readVectorIndex(reads, embedder).then((index) => (index?.valid ? index.rows : null))
    indexes.set(embedder, { until: Date.now() + INDEX_CACHE_MS, rows })
    rows.catch(() => indexes.delete(embedder))
    return rows
  }

  /**
   * Whether the index is faster than an exact comparison. Assumes that the share of the scope in the visited entries
   * equals its share in all vectors.
   */
  async function isIndexFaster(
    embedder: string,
    tenant: string,
    conversationIds: readonly string[],
    limit: number,
  ): Promise<boolean> {
    const total = await indexed(embedder)
    if (total === null) return false
    const scope = await countScope(reads, tenant, conversationIds)
    if (scope <= exactTurns) return false
    const visits = Math.max(MIN_VISITS, ((2 * limit + 20) * Math.max(total, scope)) / scope)
    return visits * VISIT_COST < scope || exactTurns === 0
  }

  return {
    compare: (embedder, scope, versions, query) => compareVectors(reads, scope, embedder, versions, query),
    async nearest(embedder, viewer, conversationIds, query, limit, filter) {
      const search = { embedder, viewer, conversationIds, query, limit, filter }
      if (await isIndexFaster(embedder, viewer.tenant, conversationIds, limit)) {
        const found = await nearestByIndex(reads, search)
        if (found.length >= limit) return { method: 'APPROXIMATE', found }
      }
      return { method: 'EXACT', found: await nearestOfAll(reads, search) }
    },
    async write(embedder, vectors) {
      if (vectors.length > 0) await writeVectors(db, embedder, vectors)
    },
    forget() {},
    cacheBytes: () => 0,
  }
}
