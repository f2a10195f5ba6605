// LRU cache of the vectors of conversations. It caches whole conversations only: adding a vector to a conversation that
// is not cached does nothing. Requires that no other process writes vectors.

import type { ConversationVectors } from './sql/recall/read-vectors.ts'
import type { Place } from './vector-search.ts'

type VectorCache = {
  /** The conversation's vectors, if cached; marks the conversation as recently used. */
  get(embedder: string, conversationId: string): ConversationVectors | undefined
  /** Caches a conversation's vectors, unless they alone exceed the limit. The cache takes ownership of them. */
  put(embedder: string, vectors: ConversationVectors): void
  /** Adds a vector to a conversation, if cached. */
  add(embedder: string, place: Place, vector: Float32Array): void
  forget(conversationId: string): void
}

/** Memory of a conversation apart from its vectors, in bytes. */
const CONVERSATION_BYTES = 500

const bytesOf = ({ rootSeqs, seqs, vectors }: ConversationVectors) =>
  CONVERSATION_BYTES + rootSeqs.byteLength + seqs.byteLength + vectors.byteLength

const grown = <Numbers extends Int32Array | Float32Array>(numbers: Numbers, length: number): Numbers => {
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length)
  larger.set(numbers)
  return larger
}

/** @param limit maximum size, in bytes */
export function createVectorCache(limit: number): VectorCache {
  /** Vectors by conversation and embedder; conversations in order of last use. */
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
        // Replaces the arrays: a search in progress continues in the old ones.
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
