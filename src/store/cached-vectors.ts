// Reads the vectors of conversations from the embedded database and caches them in memory. The cache is correct because
// one process uses the database and reports every write and deletion here.

import type { Scope } from './scope.ts'
import type { Db } from './db.ts'
import { readLastSeqs, readVectors, type ConversationVectors } from './sql/recall/read-vectors.ts'
import { createVectorCache } from './vector-cache.ts'
import type { TurnVersionId } from './vector-search.ts'

/**
 * Maximum number of turns whose vectors one statement reads. A statement blocks all others of the embedded database.
 */
const PIECE_TURNS = 5_000
/** Maximum value of root_seq. */
const MAX_ROOT_SEQ = 2_147_483_647

export type CachedVectors = {
  /** Size of the cache, in bytes. */
  readonly bytes: number
  /**
   * Yields all vectors of the conversations: first those of cached conversations, then those read from the database.
   */
  parts(
    embedder: string,
    scope: Scope,
    conversationIds: readonly string[],
    dimension: number,
  ): AsyncGenerator<ConversationVectors>
  /**
   * Must be called before and after each write to the conversation's vectors, so that reads in progress do not
   * cache outdated vectors.
   */
  changing(conversationId: string, embedder: string): void
  /** Adds a written vector to the cache. */
  add(embedder: string, version: TurnVersionId, vector: Float32Array): void
  /** Removes a deleted conversation from the cache. */
  forget(conversationId: string): void
}

/** @param cacheBytes maximum size of the cache, in bytes */
export function createCachedVectors(db: Db, cacheBytes: number): CachedVectors {
  const cache = createVectorCache(cacheBytes)
  /** Reads in progress, each with the conversations that were changed or deleted since the read started. */
  const reads = new Set<{ embedder: string; touched: Set<string> }>()
  /** Marks the conversation as changed in the reads of the embedder; by default, of all embedders. */
  const touch = (conversationId: string, embedder?: string) => {
    for (const read of reads) if (!embedder || embedder === read.embedder) read.touched.add(conversationId)
  }

  async function* readPiece(
    embedder: string,
    scope: Scope,
    piece: Piece,
    isCached: boolean,
  ): AsyncGenerator<ConversationVectors> {
    const read = { embedder, touched: new Set<string>() }
    reads.add(read)
    try {
      const found: ConversationVectors[] = []
      for (const [after, through] of piece.slices) {
        const slice = await readVectors(db, scope, embedder, piece.conversationIds, after, through)
        if (isCached) found.push(...slice)
        else yield* slice
      }
      if (!isCached) return
      const whole = piece.slices.length > 1 && found.length > 0 ? [joined(found)] : found
      for (const vectors of whole) if (!read.touched.has(vectors.conversationId)) cache.put(embedder, vectors)
      for (const vectors of whole) yield { ...vectors }
    } finally {
      reads.delete(read)
    }
  }

  return {
    get bytes() {
      return cache.bytes
    },
    async *parts(embedder, scope, conversationIds, dimension) {
      const missing: string[] = []
      for (const conversationId of new Set(conversationIds)) {
        const cached = cache.get(embedder, conversationId)
        if (cached) yield { ...cached }
        else missing.push(conversationId)
      }
      if (missing.length === 0) return
      const lastSeqs = await readLastSeqs(db, scope, missing)
      const turns = [...lastSeqs.values()].reduce((sum, lastSeq) => sum + lastSeq, 0)
      // The vectors are cached only if all of them fit; otherwise they would evict each other.
      const isCached = turns * (4 * dimension + 8) <= cacheBytes
      for (const piece of pieces(lastSeqs)) yield* readPiece(embedder, scope, piece, isCached)
    },
    changing: touch,
    add: cache.add,
    forget(conversationId) {
      touch(conversationId)
      cache.forget(conversationId)
    },
  }
}

/**
 * Vectors to read together: of several conversations, or of one conversation in slices (after, through] of root_seq.
 */
type Piece = { conversationIds: string[]; slices: [after: number, through: number][] }

/** Divides the conversations, given by their last seqs, into pieces of at most PIECE_TURNS turns per statement. */
function pieces(lastSeqs: ReadonlyMap<string, number>): Piece[] {
  const result: Piece[] = []
  let conversationIds: string[] = []
  let turns = 0
  for (const [conversationId, lastSeq] of lastSeqs) {
    if (lastSeq > PIECE_TURNS) {
      const count = Math.ceil(lastSeq / PIECE_TURNS)
      result.push({
        conversationIds: [conversationId],
        // The last slice has no upper limit, so that it includes turns appended since the last seqs were read.
        slices: Array.from({ length: count }, (_, i) => [
          i * PIECE_TURNS,
          i + 1 < count ? (i + 1) * PIECE_TURNS : MAX_ROOT_SEQ,
        ]),
      })
      continue
    }
    if (turns + lastSeq > PIECE_TURNS) {
      result.push({ conversationIds, slices: [[0, MAX_ROOT_SEQ]] })
      conversationIds = []
      turns = 0
    }
    conversationIds.push(conversationId)
    turns += lastSeq
  }
  if (conversationIds.length > 0) result.push({ conversationIds, slices: [[0, MAX_ROOT_SEQ]] })
  return result
}

/** Concatenates the slices of one conversation. */
function joined(slices: readonly ConversationVectors[]): ConversationVectors {
  const count = slices.reduce((sum, slice) => sum + slice.count, 0)
  const dimension = slices[0]!.vectors.length / slices[0]!.count
  const whole: ConversationVectors = {
    conversationId: slices[0]!.conversationId,
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
