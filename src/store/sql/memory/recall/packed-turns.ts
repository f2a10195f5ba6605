// The index entries of turns as packed columns: one value for each column instead of one row for each turn, which takes
// a quarter of the time. Queries must use pg, because Prisma would convert each packed value to base64 and back.

import { lengthAt, offsetOf, sizeOfArray, timeAt } from '../../../vectors/binary-array.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'

/** Aggregates of turns `t`, in the format of array_send. @param bits an expression of an integer for each turn */
export const packedColumns = (bits: string): Sql => sql`
  array_send(array_agg(t.root_seq)) AS "positions", array_send(array_agg(t.seq)) AS seqs,
  array_send(array_agg(t.created_at)) AS times, array_send(array_agg(t.token_count)) AS tokens,
  array_send(array_agg(${raw(bits)})) AS bits, array_agg(t.actor) AS actors,
  string_agg(array_send(coalesce(t.terms, '{}')), '') AS terms`

/** The values of `packedColumns`. They are null if there are no turns. */
export type PackedTurns =
  | { positions: Buffer; seqs: Buffer; times: Buffer; tokens: Buffer; bits: Buffer; actors: string[]; terms: Buffer }
  | { positions: null }

/** Reads the values of single turns from packed columns, by the turn's index in them. The turns are unordered. */
export type TurnReader = {
  size: number
  position(index: number): number
  seq(index: number): number
  /** Creation time, in ms since the epoch. */
  time(index: number): number
  tokens(index: number): number
  bits(index: number): number
  actor(index: number): string
  /** Hashes of the terms, repetitions included (domain/memory/indexing/index-entry.ts). */
  terms(index: number): Int32Array
}

/** @param salt the salt of the conversation's terms */
export function readPacked(packed: PackedTurns, salt: number): TurnReader | null {
  if (packed.positions === null) return null
  const { positions, seqs, times, tokens, bits, actors, terms } = packed
  const integer = (column: Buffer) => (index: number) => column.readInt32BE(offsetOf(index, 4))
  /** The offset of each turn's terms. */
  const offsets = new Int32Array(actors.length)
  for (let index = 0, at = 0; index < actors.length; index++) {
    offsets[index] = at
    at += sizeOfArray(lengthAt(terms, at), 4)
  }
  return {
    size: actors.length,
    position: integer(positions),
    seq: integer(seqs),
    time: (index) => timeAt(times, index),
    tokens: integer(tokens),
    bits: integer(bits),
    actor: (index) => actors[index]!,
    terms(index) {
      const at = offsets[index]!
      const hashes = new Int32Array(lengthAt(terms, at))
      for (let n = 0; n < hashes.length; n++) hashes[n] = terms.readInt32BE(at + offsetOf(n, 4)) ^ salt
      return hashes
    },
  }
}
