// Vectors of conversations in memory, the least recently used given up first. It holds whole conversations only, so whoever adds to a
// conversation that is not held adds nothing; and since there is one process, what is held is all there is.

import type { ConversationVectors } from './sql/recall/read-vectors.ts'
import type { Place } from './vector-search.ts'

type VectorCache = {
  /** The conversation's vectors, if they are held; they were just used. */
  get(embedder: string, conversationId: string): ConversationVectors | undefined
  /** Holds a conversation's vectors from now on, unless they alone are too many. They are the cache's own from here on. */
  put(embedder: string, vectors: ConversationVectors): void
  /** Adds to a conversation that is held. */
  add(embedder: string, place: Place, vector: Float32Array): void
  forget(conversationId: string): void
}

/** What a conversation takes beside its vectors, in bytes. */
const CONVERSATION_BYTES = 500

const bytesOf = ({ rootSeqs, seqs, vectors }: ConversationVectors) =>
  CONVERSATION_BYTES + rootSeqs.byteLength + seqs.byteLength + vectors.byteLength

const grown = <Numbers extends Int32Array | Float32Array>(numbers: Numbers, length: number): Numbers => {
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length)
  larger.set(numbers)
  return larger
}

/** @param limit bytes held at most */
export function createVectorCache(limit: number): VectorCache {
  /** Embedders of each conversation; conversations in the order of their last use. */
  const conversationIds = new Map<string, Map<string, ConversationVectors>>()
  let held = 0

  function touch(conversationId: string, entries: Map<string, ConversationVectors>): void {
    conversationIds.delete(conversationId)
    conversationIds.set(conversationId, entries)
  }

  function forget(conversationId: string): void {
    for (const entry of conversationIds.get(conversationId)?.values() ?? []) held -= bytesOf(entry)
    conversationIds.delete(conversationId)
  }

  function shrink(): void {
    for (const conversationId of conversationIds.keys()) {
      if (held <= limit) return
      forget(conversationId)
    }
  }

  return {
    forget,
    get(embedder, conversationId) {
      const entries = conversationIds.get(conversationId)
      if (entries) touch(conversationId, entries)
      return entries?.get(embedder)
    },
    put(embedder, vectors) {
      if (bytesOf(vectors) > limit) return
      const entries = conversationIds.get(vectors.conversationId) ?? new Map<string, ConversationVectors>()
      const before = entries.get(embedder)
      if (before) held -= bytesOf(before)
      held += bytesOf(vectors)
      touch(vectors.conversationId, entries.set(embedder, vectors))
      shrink()
    },
    add(embedder, { conversationId, rootSeq, seq }, vector) {
      const entry = conversationIds.get(conversationId)?.get(embedder)
      if (!entry) return
      const { count } = entry
      if (count === entry.seqs.length) {
        held -= bytesOf(entry)
        const capacity = Math.max(16, Math.ceil(count * 1.5))
        // Arrays in place of others, not longer ones: a search that is under way goes on in those it has.
        entry.rootSeqs = grown(entry.rootSeqs, capacity)
        entry.seqs = grown(entry.seqs, capacity)
        entry.vectors = grown(entry.vectors, capacity * vector.length)
        held += bytesOf(entry)
      }
      entry.rootSeqs[count] = rootSeq
      entry.seqs[count] = seq
      entry.vectors.set(vector, count * vector.length)
      entry.count += 1
      shrink()
    },
  }
}
