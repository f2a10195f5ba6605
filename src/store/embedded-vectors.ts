// Vector search on the embedded database, which has neither half-precision vectors nor the speed to compare many: a
// flat scan here, in JavaScript, over conversations' vectors in memory. Always exact. It rests on being the only process: what
// is held in memory is kept right by `write` and `forget` alone.

import type { Pool } from 'pg'
import { compareVectors } from './sql/recall/compare-vectors.ts'
import { findablePlaces } from './sql/recall/findable-places.ts'
import { readHeads, readVectors, type ConversationVectors } from './sql/recall/read-vectors.ts'
import { writeVectors } from './sql/indexing/write-vectors.ts'
import { yieldToEventLoop } from '../yield.ts'
import { createVectorCache } from './vector-cache.ts'
import { dotAt } from './vector.ts'
import { placeKey, type Found, type VectorSearch } from './vector-search.ts'

/** 200,000 vectors of 100 dimensions. */
const HELD_BYTES = 200_000 * 4 * 100
/** Turns whose vectors one statement reads: it is the only one that runs meanwhile. */
const PIECE_TURNS = 5_000
/** Components that are multiplied without letting others have the event loop: some 3 ms. */
const HOLD = 2_000_000
/** Turns that one statement judges. */
const JUDGED = 5_000

/** Similarities of a part's turns. `of` outlives the vectors themselves. */
type Compared = { of: Pick<ConversationVectors, 'conversationId' | 'rootSeqs' | 'seqs'>; similarities: Float32Array }

export function createEmbeddedVectors(pool: Pool, { heldBytes = HELD_BYTES } = {}): VectorSearch {
  const cache = createVectorCache(heldBytes)
  /** What is being read, and which of the conversations were written to, or forgotten, meanwhile. */
  const readings = new Set<{ embedder: string; touched: Set<string> }>()
  /** An embedder's vectors of the conversation change; all embedders' when none is named. */
  const changed = (conversationId: string, embedder?: string) => {
    for (const reading of readings) if (!embedder || embedder === reading.embedder) reading.touched.add(conversationId)
  }

  /** All vectors of those conversations in parts: what is held, then what must be read. */
  async function* parts(
    embedder: string,
    conversationIds: readonly string[],
    dimension: number,
  ): AsyncGenerator<ConversationVectors> {
    const missing: string[] = []
    for (const conversationId of new Set(conversationIds)) {
      const held = cache.get(embedder, conversationId)
      if (held) yield { ...held }
      else missing.push(conversationId)
    }
    if (missing.length === 0) return
    const heads = await readHeads(pool, missing)
    const turns = [...heads.values()].reduce((sum, head) => sum + head, 0)
    // Conversations that do not all fit would only push each other out.
    const isKept = turns * (4 * dimension + 8) <= heldBytes
    for (const piece of pieces(heads)) yield* readPiece(embedder, piece, isKept)
  }

  async function* readPiece(embedder: string, piece: Piece, isKept: boolean): AsyncGenerator<ConversationVectors> {
    const reading = { embedder, touched: new Set<string>() }
    readings.add(reading)
    try {
      const found: ConversationVectors[] = []
      for (const [after, through] of piece.slices) {
        const slice = await readVectors(pool, embedder, piece.conversationIds, after, through)
        if (isKept) found.push(...slice)
        else yield* slice
      }
      if (!isKept) return
      const whole = piece.slices.length > 1 && found.length > 0 ? [joined(found)] : found
      for (const vectors of whole) if (!reading.touched.has(vectors.conversationId)) cache.put(embedder, vectors)
      for (const vectors of whole) yield { ...vectors }
    } finally {
      readings.delete(reading)
    }
  }

  async function compare(
    embedder: string,
    conversationIds: readonly string[],
    query: Float32Array,
  ): Promise<Compared[]> {
    const compared: Compared[] = []
    let work = 0
    for await (const { count, vectors, ...of } of parts(embedder, conversationIds, query.length)) {
      const similarities = new Float32Array(count)
      for (let i = 0, at = 0; i < count; i++, at += query.length) {
        similarities[i] = dotAt(query, vectors, at)
        work += query.length
        if (work > HOLD) {
          await yieldToEventLoop()
          work = 0
        }
      }
      compared.push({ of, similarities })
    }
    return compared
  }

  return {
    async scan(embedder, conversationIds, query) {
      const found = new Map<string, Map<number, number>>()
      for (const { of, similarities } of await compare(embedder, conversationIds, query)) {
        const bySeq = found.get(of.conversationId) ?? new Map<number, number>()
        for (let i = 0; i < similarities.length; i++) bySeq.set(of.seqs[i]!, similarities[i]!)
        found.set(of.conversationId, bySeq)
      }
      return found
    },
    of: (embedder, places, query) => compareVectors(pool, embedder, places, query),
    async nearest(embedder, viewer, conversationIds, query, limit, filter) {
      const compared = await compare(embedder, conversationIds, query)
      const total = compared.reduce((sum, { similarities }) => sum + similarities.length, 0)
      const judged = new Set<string>()
      const found: Found[] = []
      for (let count = 2 * limit + 20; found.length < limit; count *= 8) {
        const candidates = best(compared, count).filter((candidate) => !judged.has(placeKey(candidate)))
        for (let at = 0; at < candidates.length && found.length < limit; at += JUDGED) {
          const some = candidates.slice(at, at + JUDGED)
          const findable = await findablePlaces(pool, viewer, some, filter)
          found.push(...some.filter((candidate) => findable.has(placeKey(candidate))))
        }
        for (const candidate of candidates) judged.add(placeKey(candidate))
        if (count >= total) break
      }
      return { how: 'EXACT', found: found.slice(0, limit) }
    },
    async write(embedder, vectors) {
      if (vectors.length === 0) return
      for (const { conversationId } of vectors) changed(conversationId, embedder)
      const written = new Set((await writeVectors(pool, embedder, vectors)).map(placeKey))
      for (const { vector, ...place } of vectors) {
        changed(place.conversationId, embedder)
        if (written.delete(placeKey(place))) cache.add(embedder, place, vector)
      }
    },
    forget(conversationId) {
      changed(conversationId)
      cache.forget(conversationId)
    },
  }
}

/** What is read together: some conversations in one go, or one conversation in slices of its root_seqs, (after, through]. */
type Piece = { conversationIds: string[]; slices: [after: number, through: number][] }

function pieces(heads: ReadonlyMap<string, number>): Piece[] {
  const made: Piece[] = []
  let conversationIds: string[] = []
  let turns = 0
  for (const [conversationId, head] of heads) {
    if (head > PIECE_TURNS) {
      const count = Math.ceil(head / PIECE_TURNS)
      made.push({
        conversationIds: [conversationId],
        // Beyond the head, for what is said meanwhile.
        slices: Array.from({ length: count }, (_, i) => [i * PIECE_TURNS, i + 1 < count ? (i + 1) * PIECE_TURNS : END]),
      })
      continue
    }
    if (turns + head > PIECE_TURNS) {
      made.push({ conversationIds, slices: [[0, END]] })
      conversationIds = []
      turns = 0
    }
    conversationIds.push(conversationId)
    turns += head
  }
  if (conversationIds.length > 0) made.push({ conversationIds, slices: [[0, END]] })
  return made
}

const END = 2_147_483_647

/** A conversation's slices as one. */
function joined(slices: readonly ConversationVectors[]): ConversationVectors {
  const count = slices.reduce((sum, slice) => sum + slice.count, 0)
  const dimension = slices[0]!.vectors.length / slices[0]!.count
  const whole: ConversationVectors = {
    conversationId: slices[0]!.conversationId,
    count,
    rootSeqs: new Int32Array(count),
    seqs: new Int32Array(count),
    vectors: new Float32Array(count * dimension),
  }
  let at = 0
  for (const slice of slices) {
    whole.rootSeqs.set(slice.rootSeqs, at)
    whole.seqs.set(slice.seqs, at)
    whole.vectors.set(slice.vectors, at * dimension)
    at += slice.count
  }
  return whole
}

/** The `count` most similar, best first. Keeps at most twice as many at a time. */
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
