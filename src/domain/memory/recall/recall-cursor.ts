// Encodes and decodes the cursor of a recall. A cursor contains a digest of the recall's inputs, the time before the
// first page was read, and the keys of the hits read so far, so any process can read the next page. Each page is
// searched and ranked anew. Edits, deletions and new vectors may change the ranking between two pages; the keys prevent
// a page from repeating or skipping a hit whose rank changed.

import { createHash } from 'node:crypto'
import { InvalidInput } from '../../../errors.ts'

/** Maximum number of hits that the pages of one recall return together. */
export const MAX_PAGED_HITS = 1_000

/**
 * Sizes of the parts of a cursor, in bytes. With 6 bytes, two of MAX_PAGED_HITS keys collide once in 5 × 10⁸ recalls.
 */
const RECALL_BYTES = 8
const TIME_BYTES = 6
const HIT_BYTES = 6
const HEADER_BYTES = RECALL_BYTES + TIME_BYTES
/** Latest time that Postgres, ISO 8601 and JavaScript can all represent, in milliseconds since the epoch. */
const MAX_TIME = Date.UTC(9999, 11, 31)

export type RecallPosition = {
  /**
   * The database's time before the first page was read, in milliseconds since the epoch. Later pages exclude memories
   * written after it.
   */
  readAt: number
  /** The keys of the hits on the pages read so far (see `hitKey`). */
  read: readonly number[]
}

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Returns the key of a hit. @param id the result of `identityOf`, which is equal for all versions of a turn */
export const hitKey = (id: string): number => digest(id).readUIntBE(0, HIT_BYTES)

/** Returns the identity of a recall. `selection` contains the viewer and every input that selects or orders hits. */
export const recallIdentity = (selection: readonly unknown[]): Buffer =>
  digest(JSON.stringify(selection)).subarray(0, RECALL_BYTES)

export function encodePosition(identity: Buffer, { readAt, read }: RecallPosition): string {
  const bytes = Buffer.alloc(HEADER_BYTES + read.length * HIT_BYTES)
  identity.copy(bytes)
  bytes.writeUIntBE(readAt, RECALL_BYTES, TIME_BYTES)
  read.forEach((key, i) => bytes.writeUIntBE(key, HEADER_BYTES + i * HIT_BYTES, HIT_BYTES))
  return bytes.toString('base64url')
}

/** @throws InvalidInput at `after` if the cursor is malformed or of another recall, or contains MAX_PAGED_HITS hits */
export function decodePosition(identity: Buffer, cursor: string): RecallPosition {
  const bytes = Buffer.from(cursor, 'base64url')
  const hits = (bytes.length - HEADER_BYTES) / HIT_BYTES
  const isCanonical = bytes.toString('base64url') === cursor
  const readAt = isCanonical && hits >= 0 ? bytes.readUIntBE(RECALL_BYTES, TIME_BYTES) : Infinity
  if (!Number.isInteger(hits) || hits > MAX_PAGED_HITS || readAt > MAX_TIME) {
    throw InvalidInput.at('after', 'is not a cursor of recall')
  }
  if (!bytes.subarray(0, RECALL_BYTES).equals(identity)) {
    throw InvalidInput.at(
      'after',
      'is a cursor of another recall; only k, neighbours and maxTokens may differ between its pages, and the viewer must be the same',
    )
  }
  if (hits === MAX_PAGED_HITS) {
    throw InvalidInput.at(
      'after',
      `follows ${MAX_PAGED_HITS.toLocaleString('en-US')} hits, and one recall returns no more; narrow the query or its filters`,
    )
  }
  return {
    readAt,
    read: Array.from({ length: hits }, (_, i) => bytes.readUIntBE(HEADER_BYTES + i * HIT_BYTES, HIT_BYTES)),
  }
}
