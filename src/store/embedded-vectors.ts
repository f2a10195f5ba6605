// Vector search on the embedded database, which is too slow to compare many vectors: a flat scan in JavaScript over
// vectors in memory. Always exact. Requires that no other process uses the database.

import type { Db } from './db.ts'
import { yieldToEventLoop } from '../yield.ts'
import { createHeldVectors, type HeldVectors } from './held-vectors.ts'
import { writeVectors } from './sql/indexing/write-vectors.ts'
import { compareVectors } from './sql/recall/compare-vectors.ts'
import { findablePlaces } from './sql/recall/findable-places.ts'
import type { ConversationVectors } from './sql/recall/read-vectors.ts'
import { dotAt } from './vector.ts'
import { placeKey, type Found, type VectorSearch } from './vector-search.ts'

/** Memory for vectors, in bytes: 200,000 vectors of 100 dimensions. */
const HELD_BYTES = 200_000 * 4 * 100
/** Components multiplied before the comparison yields to the event loop: about 3 ms of work. */
const YIELD_AFTER = 2_000_000
/** Maximum number of turns that one statement checks for visibility. */
const CHECKED_AT_ONCE = 5_000

/** Similarities of a part's turns. `of` identifies the turns without keeping their vectors in memory. */
type Compared = { of: Pick<ConversationVectors, 'conversationId' | 'rootSeqs' | 'seqs'>; similarities: Float32Array }

/** Compares the query with every turn of the conversations. */
async function compare(
  held: HeldVectors,
  embedder: string,
  conversationIds: readonly string[],
  query: Float32Array,
): Promise<Compared[]> {
  const compared: Compared[] = []
  let work = 0
  for await (const { count, vectors, ...of } of held.parts(embedder, conversationIds, query.length)) {
    const similarities = new Float32Array(count)
    for (let i = 0, at = 0; i < count; i++, at += query.length) {
      similarities[i] = dotAt(query, vectors, at)
      work += query.length
      if (work > YIELD_AFTER) {
        await yieldToEventLoop()
        work = 0
      }
    }
    compared.push({ of, similarities })
  }
  return compared
}

/** The `limit` best turns that pass `findable`, best first. Checks batches of growing size until there are enough. */
async function bestFindable(
  compared: readonly Compared[],
  limit: number,
  findable: (candidates: readonly Found[]) => Promise<ReadonlySet<string>>,
): Promise<Found[]> {
  const total = compared.reduce((sum, { similarities }) => sum + similarities.length, 0)
  const checked = new Set<string>()
  const found: Found[] = []
  for (let count = 2 * limit + 20; found.length < limit; count *= 8) {
    const candidates = best(compared, count).filter((candidate) => !checked.has(placeKey(candidate)))
    for (let at = 0; at < candidates.length && found.length < limit; at += CHECKED_AT_ONCE) {
      const batch = candidates.slice(at, at + CHECKED_AT_ONCE)
      const passed = await findable(batch)
      found.push(...batch.filter((candidate) => passed.has(placeKey(candidate))))
    }
    for (const candidate of candidates) checked.add(placeKey(candidate))
    if (count >= total) break
  }
  return found.slice(0, limit)
}

export function createEmbeddedVectors(db: Db, { heldBytes = HELD_BYTES } = {}): VectorSearch {
  const held = createHeldVectors(db, heldBytes)
  return {
    async scan(embedder, conversationIds, query) {
      const found = new Map<string, Map<number, number>>()
      for (const { of, similarities } of await compare(held, embedder, conversationIds, query)) {
        const bySeq = found.get(of.conversationId) ?? new Map<number, number>()
        for (let i = 0; i < similarities.length; i++) bySeq.set(of.seqs[i]!, similarities[i]!)
        found.set(of.conversationId, bySeq)
      }
      return found
    },
    of: (embedder, places, query) => compareVectors(db, embedder, places, query),
    async nearest(embedder, viewer, conversationIds, query, limit, filter) {
      const compared = await compare(held, embedder, conversationIds, query)
      const found = await bestFindable(compared, limit, (some) => findablePlaces(db, viewer, some, filter))
      return { how: 'EXACT', found }
    },
    async write(embedder, vectors) {
      if (vectors.length === 0) return
      for (const { conversationId } of vectors) held.changing(conversationId, embedder)
      const written = new Set((await writeVectors(db, embedder, vectors)).map(placeKey))
      for (const { vector, ...place } of vectors) {
        held.changing(place.conversationId, embedder)
        if (written.delete(placeKey(place))) held.add(embedder, place, vector)
      }
    },
    forget: held.forget,
  }
}

/** The `count` most similar turns, best first. Keeps at most 2 × `count` candidates in memory. */
function best(compared: readonly Compared[], count: number): Found[] {
  const kept: { of: Compared['of']; i: number; similarity: number }[] = []
  let least = -Infinity
  const cut = () => {
    kept.sort((a, b) => b.similarity - a.similarity)
    if (kept.length < count) return
    kept.length = count
    least = kept[count - 1]!.similarity
  }
  for (const { of, similarities } of compared) {
    for (let i = 0; i < similarities.length; i++) {
      const similarity = similarities[i]!
      if (similarity <= least) continue
      kept.push({ of, i, similarity })
      if (kept.length >= 2 * count) cut()
    }
  }
  cut()
  return kept.map(({ of, i, similarity }): Found => ({
    conversationId: of.conversationId,
    rootSeq: of.rootSeqs[i]!,
    seq: of.seqs[i]!,
    similarity,
  }))
}
