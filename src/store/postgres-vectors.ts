// Vector search on Postgres. Narrow scopes are compared exactly; wide ones go through the embedder's HNSW index, once
// there is one, and are compared exactly after all where that led to too few: while k turns match, k are found.

import type { Db } from './db.ts'
import { compareVectors, scanVectors } from './sql/recall/compare-vectors.ts'
import { nearestByIndex, nearestOfAll } from './sql/recall/nearest-vectors.ts'
import { countScope } from './sql/recall/count-scope.ts'
import { writeVectors } from './sql/indexing/write-vectors.ts'
import { readVectorIndex } from './vector-index.ts'
import type { VectorSearch } from './vector-search.ts'

/** Turns up to which comparing all is as fast as any index: some 2 ms. */
const EXACT_TURNS = 5_000

/** Visiting one entry of the index, which costs a look at a page and the turn's row, against comparing one vector. */
const VISIT_COST = 20

/** Entries that HNSW visits for one search whatever it finds: those it keeps in sight, and their neighbours. */
const LEAST_VISITS = 400

/** How long it is believed that an index is there, or is not. */
const BELIEF_MS = 5_000

/** @param exactTurns for tests: scopes up to it are always compared exactly */
export function createPostgresVectors(db: Db, { exactTurns = EXACT_TURNS } = {}): VectorSearch {
  const indexes = new Map<string, { until: number; rows: Promise<number | null> }>()

  /** Vectors in the embedder's index; null without one. */
  function indexed(embedder: string): Promise<number | null> {
    const known = indexes.get(embedder)
    if (known && known.until > Date.now()) return known.rows
    const rows = readVectorIndex(db, embedder).then((index) => (index?.valid ? index.rows : null))
    indexes.set(embedder, { until: Date.now() + BELIEF_MS, rows })
    rows.catch(() => indexes.delete(embedder))
    return rows
  }

  /**
   * Whether the index is the faster way: of the entries it visits, in order of distance, about as many are of the scope
   * as the scope has of all.
   */
  async function isIndexFaster(embedder: string, conversationIds: readonly string[], limit: number): Promise<boolean> {
    const all = await indexed(embedder)
    if (all === null) return false
    const scope = await countScope(db, conversationIds)
    if (scope <= exactTurns) return false
    const visits = Math.max(LEAST_VISITS, ((2 * limit + 20) * Math.max(all, scope)) / scope)
    return visits * VISIT_COST < scope || exactTurns === 0
  }

  return {
    scan: (embedder, conversationIds, query) => scanVectors(db, embedder, conversationIds, query),
    of: (embedder, places, query) => compareVectors(db, embedder, places, query),
    async nearest(embedder, viewer, conversationIds, query, limit, filter) {
      const asked = { embedder, viewer, conversationIds, query, limit, filter }
      if (await isIndexFaster(embedder, conversationIds, limit)) {
        const found = await nearestByIndex(db, asked)
        if (found.length >= limit) return { how: 'APPROXIMATE', found }
      }
      return { how: 'EXACT', found: await nearestOfAll(db, asked) }
    },
    async write(embedder, vectors) {
      if (vectors.length > 0) await writeVectors(db, embedder, vectors)
    },
    forget() {},
  }
}
