// The file store of a database in memory, for tests and for the library without a data directory. The files are lost with
// the process.

import { Readable } from 'node:stream'
import { checkKey, type FileStore } from './file-store.ts'

/** Keeps copies, so that the caller may change the bytes that it has put. */
export function createMemoryFiles(): FileStore {
  const files = new Map<string, Buffer>()
  return {
    async put(key, bytes) {
      files.set(checkKey(key), Buffer.from(bytes))
    },
    async get(key, range) {
      const bytes = files.get(checkKey(key))
      if (!bytes) return null
      // In an array, so that the stream emits the bytes as one chunk, and none for an empty file.
      return Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes])
    },
    async delete(key) {
      files.delete(checkKey(key))
    },
    deleteUnfinished: async () => 0,
  }
}
