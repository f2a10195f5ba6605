// The port of the file store, which keeps the bytes of attachments by key. A key is written with one content only, because
// it contains the hash of the content. Adapters: disk.ts, s3.ts and memory.ts.

import type { Readable } from 'node:stream'

/** The bytes from `start` to `end`, both included. */
export type ByteRange = { start: number; end: number }

export type FileStore = {
  /** Writes the file completely or not at all, and resolves when it is durable. A file that exists is written again. */
  put(key: string, bytes: Buffer): Promise<void>
  /** Returns a stream of the bytes, of a range of them if one is given; null if there is no such file. */
  get(key: string, range?: ByteRange): Promise<Readable | null>
  /** Deletes the file. Does nothing if there is none. */
  delete(key: string): Promise<void>
  /** Deletes what interrupted writes have left, if it is older than `ms`. Returns the number of deleted files. */
  deleteUnfinished(ms: number): Promise<number>
}

/** Keys have the characters of hexadecimal numbers and paths only. Other keys are a defect of the caller. */
const KEY = /^[\da-f]+(?:\/[\da-f]+)*$/

/** @throws Error for a key that could name a file outside the store */
export function checkKey(key: string): string {
  if (!KEY.test(key)) throw new Error(`${JSON.stringify(key)} is not a key of the file store`)
  return key
}
