// Vector search for the embedded database. Compares all vectors in memory, in JavaScript, because the database itself
// compares them too slowly. The results are always exact. Caches the vectors of whole conversations, which the cache of
// recall's indexes cannot replace: it contains the vectors of at most 15,000 turns of a scope. The cache is correct
// because one process uses the database and reports every write and deletion here.

import { LRUCache } from 'lru-cache'
import { dot } from '../../runtime/unit-vector.ts'
import { yieldToEventLoop } from '../../runtime/yield.ts'
import type { Db } from '../db/db.ts'
import type { Scope } from '../db/scope.ts'
import { writeVectors } from '../sql/memory/indexing/write-vectors.ts'
import { compareVectors } from '../sql/memory/recall/compare-vectors.ts'
import { findableTurns } from '../sql/memory/recall/findable-turns.ts'
import { readLastSeqs, readVectors, type ConversationVectors } from '../sql/memory/recall/read-vectors.ts'
import { versionKey, type FoundTurn, type TurnVersionId, type VectorSearch } from './vector-search.ts'

/** Default size of the cache, in bytes: 200,000 vectors of 100 components. */
const CACHE_BYTES = 200_000 * 4 * 100
/** Estimated memory of a cached conversation besides its arrays, in bytes. */
const CONVERSATION_BYTES = 500
/** Maximum number of turns whose vectors one statement reads. A statement blocks all others of the embedded database. */
const PIECE_TURNS = 5_000
/** Maximum value of root_seq. */
const MAX_ROOT_SEQ = 2_147_483_647
/** Number of multiplications after which a comparison yields to the event loop: about 1 ms. */
const YIELD_AFTER = 700_000
/** Maximum number of turns that one statement checks for visibility. */
const CHECKED_AT_ONCE = 5_000

/** @param cacheBytes maximum size of the cache, in bytes */
export function createEmbeddedVectors(db: Db, { cacheBytes = CACHE_BYTES } = {}): VectorSearch {
  const cache = createVectorCache(db, cacheBytes)
  return {
    compare: (scope, vector, versions) => compareVectors(db, scope, vector, versions),
    async nearest(viewer, conversationIds, { embedder, query }, { limit, filter }) {
      const compared = await compareAll(cache.parts(embedder, viewer.tenant, conversationIds, query.length), query)
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
    cacheBytes: () => cache.bytes(),
  }
}

const keyOf = (conversationId: string, embedder: string) => `${conversationId} ${embedder}`

/** Copies the numbers to a longer array. */
const grown = <Numbers extends Int32Array | Float32Array>(numbers: Numbers, length: number): Numbers => {
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length)
  larger.set(numbers)
  return larger
}

/** Returns the vectors with one more. A search may still read the given ones, so it changes nothing before `count`. */
function withVector(before: ConversationVectors, version: TurnVersionId, vector: Float32Array): ConversationVectors {
  const { count } = before
  let { positions, seqs, vectors } = before
  if (count === seqs.length) {
    const capacity = Math.max(16, Math.ceil(count * 1.5))
    positions = grown(positions, capacity)
    seqs = grown(seqs, capacity)
    vectors = grown(vectors, capacity * vector.length)
  }
  positions[count] = version.position
  seqs[count] = version.seq
  vectors.set(vector, count * vector.length)
  return { ...before, count: count + 1, positions, seqs, vectors }
}

function createVectorCache(db: Db, maxBytes: number) {
  const cache = new LRUCache<string, ConversationVectors>({
    maxSize: maxBytes,
    sizeCalculation: ({ positions, seqs, vectors }) =>
      CONVERSATION_BYTES + positions.byteLength + seqs.byteLength + vectors.byteLength,
  })
  /** Reads in progress, each with the conversations that were changed or deleted since the read started. */
  const reads = new Set<{ embedder: string; touched: Set<string> }>()
  /** Marks the conversation as changed in the reads of the embedder; by default, of all embedders. */
  const touch = (conversationId: string, embedder?: string) => {
    for (const read of reads) if (!embedder || embedder === read.embedder) read.touched.add(conversationId)
  }

  /** Yields the vectors of a piece. Caches them, unless their conversation was changed meanwhile. */
  async function* readPiece(
    embedder: string,
    scope: Scope,
    { conversationIds, slices }: Piece,
    isCached: boolean,
  ): AsyncGenerator<ConversationVectors> {
    const read = { embedder, touched: new Set<string>() }
    reads.add(read)
    try {
      const found: ConversationVectors[] = []
      for (const [after, through] of slices) {
        const slice = await readVectors(db, scope, embedder, { conversationIds, after, through })
        if (isCached) found.push(...slice)
        else yield* slice
      }
      const whole = slices.length > 1 && found.length > 0 ? [joined(found)] : found
      for (const vectors of whole) {
        if (!read.touched.has(vectors.conversationId)) cache.set(keyOf(vectors.conversationId, embedder), vectors)
      }
      yield* whole
    } finally {
      reads.delete(read)
    }
  }

  return {
    bytes: () => cache.calculatedSize,
    /** Yields all vectors of the conversations: first those of cached conversations, then those that are read. */
    async *parts(embedder: string, scope: Scope, conversationIds: readonly string[], dimension: number) {
      const missing: string[] = []
      for (const conversationId of new Set(conversationIds)) {
        const cached = cache.get(keyOf(conversationId, embedder))
        if (cached) yield cached
        else missing.push(conversationId)
      }
      if (missing.length === 0) return
      const lastSeqs = await readLastSeqs(db, scope, missing)
      const turns = [...lastSeqs.values()].reduce((sum, lastSeq) => sum + lastSeq, 0)
      // The vectors are cached only if all of them fit; otherwise they would evict each other.
      const isCached = turns * (4 * dimension + 8) <= maxBytes
      for (const piece of piecesOf(lastSeqs)) yield* readPiece(embedder, scope, piece, isCached)
    },
    /**
     * Must be called before and after each write to the conversation's vectors, so that reads in progress do not cache
     * outdated vectors.
     */
    changing: touch,
    /** Adds a written vector. Does nothing if the conversation is not cached, because the rest would be missing. */
    add(embedder: string, version: TurnVersionId, vector: Float32Array): void {
      const key = keyOf(version.conversationId, embedder)
      const cached = cache.peek(key)
      if (cached) cache.set(key, withVector(cached, version, vector))
    },
    /** Removes a deleted conversation. */
    forget(conversationId: string): void {
      touch(conversationId)
      for (const key of [...cache.keys()]) if (key.startsWith(keyOf(conversationId, ''))) cache.delete(key)
    },
  }
}

/**
 * Vectors to read together: of several conversations, or of one conversation in slices (after, through] of root_seq.
 */
type Piece = { conversationIds: string[]; slices: [after: number, through: number][] }

/** Divides the conversations, given by their last seqs, into pieces of at most PIECE_TURNS turns per statement. */
function piecesOf(lastSeqs: ReadonlyMap<string, number>): Piece[] {
  const long: Piece[] = []
  const short: Piece[] = []
  let turns = Infinity
  for (const [conversationId, lastSeq] of lastSeqs) {
    if (lastSeq > PIECE_TURNS) {
      const slices: Piece['slices'] = []
      for (let after = 0; after < lastSeq; after += PIECE_TURNS) slices.push([after, after + PIECE_TURNS])
      // The last slice includes turns that were appended since the last seqs were read.
      slices.at(-1)![1] = MAX_ROOT_SEQ
      long.push({ conversationIds: [conversationId], slices })
      continue
    }
    if (turns + lastSeq > PIECE_TURNS) {
      short.push({ conversationIds: [], slices: [[0, MAX_ROOT_SEQ]] })
      turns = 0
    }
    short.at(-1)!.conversationIds.push(conversationId)
    turns += lastSeq
  }
  return [...long, ...short]
}

/** Concatenates the slices of one conversation. */
function joined(slices: readonly ConversationVectors[]): ConversationVectors {
  const { conversationId, count: first, vectors } = slices[0]!
  const count = slices.reduce((sum, slice) => sum + slice.count, 0)
  const dimension = vectors.length / first
  const whole: ConversationVectors = {
    conversationId,
    count,
    positions: new Int32Array(count),
    seqs: new Int32Array(count),
    vectors: new Float32Array(count * dimension),
  }
  let at = 0
  for (const slice of slices) {
    whole.positions.set(slice.positions, at)
    whole.seqs.set(slice.seqs, at)
    whole.vectors.set(slice.vectors, at * dimension)
    at += slice.count
  }
  return whole
}

/** Some turns, and the similarity of each to the query. */
type Compared = { turns: ConversationVectors; similarities: Float32Array }

/** Compares the query with every vector. */
async function compareAll(parts: AsyncIterable<ConversationVectors>, query: Float32Array): Promise<Compared[]> {
  const compared: Compared[] = []
  let work = 0
  for await (const turns of parts) {
    const similarities = new Float32Array(turns.count)
    for (let i = 0, at = 0; i < similarities.length; i++, at += query.length) {
      similarities[i] = dot(query, turns.vectors, at)
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
