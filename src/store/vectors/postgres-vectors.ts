// Vector search on Postgres. Small scopes are compared exactly; large ones use the embedder's HNSW indexes, if they
// exist. If these find fewer turns than requested, the search is repeated exactly, in case more turns match.

import type { Db } from '../db/db.ts'
import { compareVectors } from '../sql/memory/recall/compare-vectors.ts'
import { nearestByIndex, nearestOfAll } from '../sql/memory/recall/nearest-vectors.ts'
import { countScope } from '../sql/memory/recall/count-scope.ts'
import { writeVectors } from '../sql/memory/indexing/write-vectors.ts'
import { readVectorSegments } from './vector-index.ts'
import { coverOf, type Cover } from './vector-segments.ts'
import type { VectorSearch } from './vector-search.ts'

/** Number of turns up to which an exact comparison is as fast as an index: about 2 ms. */
const EXACT_TURNS = 5_000

/** Cost of visiting one index entry (its page and the turn's row), relative to comparing one vector. */
const VISIT_COST = 20

/** Minimum number of entries that one HNSW search visits: the candidates in its queue, and their neighbours. */
const MIN_VISITS = 400

/** Milliseconds for which the list of segments is cached. */
const INDEX_CACHE_MS = 5_000

/**
 * @param reads connections for searches
 * @param exactTurns number of turns up to which a scope is always compared exactly; Infinity never uses an index; 0, for
 * tests, always uses the index
 */
export function createPostgresVectors(db: Db, { reads = db, exactTurns = EXACT_TURNS } = {}): VectorSearch {
  const covers = new Map<string, { until: number; cover: Promise<Cover> }>()

  function readCover(embedder: string): Promise<Cover> {
    const cached = covers.get(embedder)
    if (cached && cached.until > Date.now()) return cached.cover
    const cover = readVectorSegments(reads, embedder).then(coverOf)
    covers.set(embedder, { until: Date.now() + INDEX_CACHE_MS, cover })
    cover.catch(() => covers.delete(embedder))
    return cover
  }

  /**
   * Returns the segments if they are faster than an exact comparison, else null. Assumes that the share of the scope in
   * the visited entries equals its share in all vectors.
   */
  async function fasterCover(
    embedder: string,
    tenant: string,
    conversationIds: readonly string[],
    limit: number,
  ): Promise<Cover | null> {
    if (exactTurns === Infinity) return null
    const cover = await readCover(embedder)
    const { segments } = cover
    if (segments.length === 0) return null
    const scope = await countScope(reads, tenant, conversationIds)
    if (scope <= exactTurns) return null
    const total = segments.reduce((sum, { rows }) => sum + rows, 0)
    const visits = segments.length * Math.max(MIN_VISITS, ((2 * limit + 20) * Math.max(total, scope)) / scope)
    return visits * VISIT_COST < scope || exactTurns === 0 ? cover : null
  }

  return {
    compare: (scope, vector, versions) => compareVectors(reads, scope, vector, versions),
    async nearest(viewer, conversationIds, vector, { limit, filter }) {
      const search = { ...vector, viewer, conversationIds, limit, filter }
      const cover = await fasterCover(vector.embedder, viewer.tenant, conversationIds, limit)
      if (cover) {
        const found = await nearestByIndex(reads, search, cover)
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
