// Reads the vectors of conversations from the embedded database and caches them in memory. The cache is correct because
// one process uses the database and reports every write and deletion here.

import type { Db } from './db.ts'
import { readHeads, readVectors, type ConversationVectors } from './sql/recall/read-vectors.ts'
import { createVectorCache } from './vector-cache.ts'
import type { Place } from './vector-search.ts'

/**
 * Maximum number of turns whose vectors one statement reads. It blocks all other statements of the embedded database.
 */
const PIECE_TURNS = 5_000
/** The greatest root_seq. */
const END = 2_147_483_647

export type HeldVectors = {
  /** All vectors of the conversations, in parts: first the cached ones, then those read from the database. */
  parts(embedder: string, conversationIds: readonly string[], dimension: number): AsyncGenerator<ConversationVectors>
  /** Call before and after a write to the conversation's vectors: reads in progress then do not cache them. */
  changing(conversationId: string, embedder: string): void
  /** Adds a written vector to the cache. */
  add(embedder: string, place: Place, vector: Float32Array): void
  /** Removes a deleted conversation from the cache. */
  forget(conversationId: string): void
}

/** @param heldBytes maximum size of the cache, in bytes */
export function createHeldVectors(db: Db, heldBytes: number): HeldVectors {
  const cache = createVectorCache(heldBytes)
  /** Reads in progress, each with the conversations that were written to or deleted since it started. */
  const readings = new Set<{ embedder: string; touched: Set<string> }>()
  /** Marks the conversation as changed in the reads of the embedder; of every embedder if none is given. */
  const touch = (conversationId: string, embedder?: string) => {
    for (const reading of readings) if (!embedder || embedder === reading.embedder) reading.touched.add(conversationId)
  }

  async function* readPiece(embedder: string, piece: Piece, isKept: boolean): AsyncGenerator<ConversationVectors> {
    const reading = { embedder, touched: new Set<string>() }
    readings.add(reading)
    try {
      const found: ConversationVectors[] = []
      for (const [after, through] of piece.slices) {
        const slice = await readVectors(db, embedder, piece.conversationIds, after, through)
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

  return {
    async *parts(embedder, conversationIds, dimension) {
      const missing: string[] = []
      for (const conversationId of new Set(conversationIds)) {
        const held = cache.get(embedder, conversationId)
        if (held) yield { ...held }
        else missing.push(conversationId)
      }
      if (missing.length === 0) return
      const heads = await readHeads(db, missing)
      const turns = [...heads.values()].reduce((sum, head) => sum + head, 0)
      // If they do not all fit, they would only evict each other.
      const isKept = turns * (4 * dimension + 8) <= heldBytes
      for (const piece of pieces(heads)) yield* readPiece(embedder, piece, isKept)
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
 * Vectors to read together: several whole conversations, or one conversation in slices (after, through] of root_seq.
 */
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
        // The last slice is open-ended, to include turns appended in the meantime.
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

/** Concatenates the slices of one conversation. */
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
