// Vector search for the embedded database. Compares all vectors in memory, in JavaScript, because the database itself
// compares them too slowly. The results are always exact. No other process may use the database.

import type { Scope } from './scope.ts'
import type { Db } from './db.ts'
import { dot } from '../dot.ts'
import { yieldToEventLoop } from '../yield.ts'
import { createCachedVectors, type CachedVectors } from './cached-vectors.ts'
import { writeVectors } from './sql/indexing/write-vectors.ts'
import { compareVectors } from './sql/recall/compare-vectors.ts'
import { findableTurns } from './sql/recall/findable-turns.ts'
import type { ConversationVectors } from './sql/recall/read-vectors.ts'
import { versionKey, type FoundTurn, type VectorSearch } from './vector-search.ts'

/** Default size of the cache of vectors, in bytes: 200,000 vectors of 100 components. */
const CACHE_BYTES = 200_000 * 4 * 100
/** Number of multiplications after which a comparison yields to the event loop: about 1 ms. */
const YIELD_AFTER = 700_000
/** Maximum number of turns that one statement checks for visibility. */
const CHECKED_AT_ONCE = 5_000

/** Some turns, without their vectors, and the similarity of each to the query. */
type Compared = {
  turns: Pick<ConversationVectors, 'conversationId' | 'positions' | 'seqs'>
  similarities: Float32Array
}

/** Compares the query with every turn of the conversations. */
async function compareAll(
  cache: CachedVectors,
  embedder: string,
  scope: Scope,
  conversationIds: readonly string[],
  query: Float32Array,
): Promise<Compared[]> {
  const compared: Compared[] = []
  let work = 0
  for await (const { count, vectors, ...turns } of cache.parts(embedder, scope, conversationIds, query.length)) {
    const similarities = new Float32Array(count)
    for (let i = 0, at = 0; i < count; i++, at += query.length) {
      similarities[i] = dot(query, vectors, at)
      work += query.length
      if (work > YIELD_AFTER) {
        await yieldToEventLoop()
        work = 0
      }
    }
    compared.push({ turns, similarities })
  }
  return compared
}

/** Returns the `limit` best turns that pass `findable`, best first. Checks more candidates in each round. */
async function bestFindable(
  compared: readonly Compared[],
  limit: number,
  findable: (candidates: readonly FoundTurn[]) => Promise<ReadonlySet<string>>,
): Promise<FoundTurn[]> {
  const total = compared.reduce((sum, { similarities }) => sum + similarities.length, 0)
  const checked = new Set<string>()
  const found: FoundTurn[] = []
  for (let count = 2 * limit + 20; found.length < limit; count *= 8) {
    const candidates = best(compared, count).filter((candidate) => !checked.has(versionKey(candidate)))
    for (let at = 0; at < candidates.length && found.length < limit; at += CHECKED_AT_ONCE) {
      const batch = candidates.slice(at, at + CHECKED_AT_ONCE)
      const passed = await findable(batch)
      found.push(...batch.filter((candidate) => passed.has(versionKey(candidate))))
    }
    for (const candidate of candidates) checked.add(versionKey(candidate))
    if (count >= total) break
  }
  return found.slice(0, limit)
}

export function createEmbeddedVectors(db: Db, { cacheBytes = CACHE_BYTES } = {}): VectorSearch {
  const cache = createCachedVectors(db, cacheBytes)
  return {
    compare: (embedder, scope, versions, query) => compareVectors(db, scope, embedder, versions, query),
    async nearest(embedder, viewer, conversationIds, query, limit, filter) {
      const compared = await compareAll(cache, embedder, viewer.tenant, conversationIds, query)
      const found = await bestFindable(compared, limit, (candidates) => findableTurns(db, viewer, candidates, filter))
      return { method: 'EXACT', found }
    },
    async write(embedder, vectors) {
      if (vectors.length === 0) return
      for (const { conversationId } of vectors) cache.changing(conversationId, embedder)
      const written = new Set((await writeVectors(db, embedder, vectors)).map(versionKey))
      for (const { vector, ...version } of vectors) {
        cache.changing(version.conversationId, embedder)
        if (written.delete(versionKey(version))) cache.add(embedder, version, vector)
      }
    },
    forget: cache.forget,
    cacheBytes: () => cache.bytes,
  }
}

/** Returns the `count` most similar turns, best first. Keeps at most 2 × `count` candidates in memory. */
function best(compared: readonly Compared[], count: number): FoundTurn[] {
  const kept: { turns: Compared['turns']; i: number; similarity: number }[] = []
  let lowest = -Infinity
  const prune = () => {
    kept.sort((a, b) => b.similarity - a.similarity)
    if (kept.length < count) return
    kept.length = count
    lowest = kept[count - 1]!.similarity
  }
  for (const { turns, similarities } of compared) {
    for (let i = 0; i < similarities.length; i++) {
      const similarity = similarities[i]!
      if (similarity <= lowest) continue
      kept.push({ turns, i, similarity })
      if (kept.length >= 2 * count) prune()
    }
  }
  prune()
  return kept.map(({ turns, i, similarity }): FoundTurn => ({
    conversationId: turns.conversationId,
    position: turns.positions[i]!,
    seq: turns.seqs[i]!,
    similarity,
  }))
}
