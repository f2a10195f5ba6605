// Vectors of rooms in memory, the least recently used given up first. It holds whole rooms only, so whoever adds to a
// room that is not held adds nothing; and since there is one process, what is held is all there is.

import type { RoomVectors } from './sql/recall/read-vectors.ts'
import type { Place } from './vector-search.ts'

type VectorCache = {
  /** The room's vectors, if they are held; they were just used. */
  get(embedder: string, room: string): RoomVectors | undefined
  /** Holds a room's vectors from now on, unless they alone are too many. They are the cache's own from here on. */
  put(embedder: string, vectors: RoomVectors): void
  /** Adds to a room that is held. */
  add(embedder: string, place: Place, vector: Float32Array): void
  forget(room: string): void
}

/** What a room takes beside its vectors, in bytes. */
const ROOM_BYTES = 500

const bytesOf = ({ rootSeqs, seqs, vectors }: RoomVectors) =>
  ROOM_BYTES + rootSeqs.byteLength + seqs.byteLength + vectors.byteLength

const grown = <Numbers extends Int32Array | Float32Array>(numbers: Numbers, length: number): Numbers => {
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length)
  larger.set(numbers)
  return larger
}

/** @param limit bytes held at most */
export function createVectorCache(limit: number): VectorCache {
  /** Embedders of each room; rooms in the order of their last use. */
  const rooms = new Map<string, Map<string, RoomVectors>>()
  let held = 0

  function touch(room: string, entries: Map<string, RoomVectors>): void {
    rooms.delete(room)
    rooms.set(room, entries)
  }

  function forget(room: string): void {
    for (const entry of rooms.get(room)?.values() ?? []) held -= bytesOf(entry)
    rooms.delete(room)
  }

  function shrink(): void {
    for (const room of rooms.keys()) {
      if (held <= limit) return
      forget(room)
    }
  }

  return {
    forget,
    get(embedder, room) {
      const entries = rooms.get(room)
      if (entries) touch(room, entries)
      return entries?.get(embedder)
    },
    put(embedder, vectors) {
      if (bytesOf(vectors) > limit) return
      const entries = rooms.get(vectors.room) ?? new Map<string, RoomVectors>()
      const before = entries.get(embedder)
      if (before) held -= bytesOf(before)
      held += bytesOf(vectors)
      touch(vectors.room, entries.set(embedder, vectors))
      shrink()
    },
    add(embedder, { room, rootSeq, seq }, vector) {
      const entry = rooms.get(room)?.get(embedder)
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
