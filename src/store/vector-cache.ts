// LRU cache of the vectors of conversations. It caches whole conversations only: adding a vector to a conversation that
// is not cached does nothing. Requires that no other process writes vectors.

import type { ConversationVectors } from './sql/recall/read-vectors.ts'
import type { TurnVersionId } from './vector-search.ts'

type VectorCache = {
  /** Size of the cached vectors, in bytes. */
  readonly bytes: number
  /** Returns the conversation's vectors, if cached, and marks the conversation as recently used. */
  get(embedder: string, conversationId: string): ConversationVectors | undefined
  /** Caches a conversation's vectors, unless they alone exceed the limit. `add` then changes the given object. */
  put(embedder: string, vectors: ConversationVectors): void
  /** Adds a vector to a cached conversation. Does nothing if the conversation is not cached. */
  add(embedder: string, version: TurnVersionId, vector: Float32Array): void
  /** Removes the conversation's vectors of all embedders. */
  forget(conversationId: string): void
}

/** Estimated memory of a cached conversation besides its arrays, in bytes. */
const CONVERSATION_BYTES = 500

const bytesOf = ({ positions, seqs, vectors }: ConversationVectors) =>
  CONVERSATION_BYTES + positions.byteLength + seqs.byteLength + vectors.byteLength

/** Copies the numbers to a longer array. */
const grown = <Numbers extends Int32Array | Float32Array>(numbers: Numbers, length: number): Numbers => {
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length)
  larger.set(numbers)
  return larger
}

/** @param limit maximum size, in bytes */
export function createVectorCache(limit: number): VectorCache {
  /** Vectors by conversation, then embedder. The least recently used conversation is first. */
  const conversations = new Map<string, Map<string, ConversationVectors>>()
  let bytes = 0

  function touch(conversationId: string, entries: Map<string, ConversationVectors>): void {
    conversations.delete(conversationId)
    conversations.set(conversationId, entries)
  }

  function forget(conversationId: string): void {
    for (const entry of conversations.get(conversationId)?.values() ?? []) bytes -= bytesOf(entry)
    conversations.delete(conversationId)
  }

  function shrink(): void {
    for (const conversationId of conversations.keys()) {
      if (bytes <= limit) return
      forget(conversationId)
    }
  }

  return {
    get bytes() {
      return bytes
    },
    forget,
    get(embedder, conversationId) {
      const entries = conversations.get(conversationId)
      if (entries) touch(conversationId, entries)
      return entries?.get(embedder)
    },
    put(embedder, vectors) {
      if (bytesOf(vectors) > limit) return
      const entries = conversations.get(vectors.conversationId) ?? new Map<string, ConversationVectors>()
      const before = entries.get(embedder)
      if (before) bytes -= bytesOf(before)
      bytes += bytesOf(vectors)
      touch(vectors.conversationId, entries.set(embedder, vectors))
      shrink()
    },
    add(embedder, { conversationId, position, seq }, vector) {
      const entry = conversations.get(conversationId)?.get(embedder)
      if (!entry) return
      const { count } = entry
      if (count === entry.seqs.length) {
        bytes -= bytesOf(entry)
        const capacity = Math.max(16, Math.ceil(count * 1.5))
        // Creates new arrays, because a search in progress still reads the old ones.
        entry.positions = grown(entry.positions, capacity)
        entry.seqs = grown(entry.seqs, capacity)
        entry.vectors = grown(entry.vectors, capacity * vector.length)
        bytes += bytesOf(entry)
      }
      entry.positions[count] = position
      entry.seqs[count] = seq
      entry.vectors.set(vector, count * vector.length)
      entry.count += 1
      shrink()
    },
  }
}
