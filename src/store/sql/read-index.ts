// What ranking needs to know of turns without reading them: place, time, actor, cues and terms, of whole rooms or of
// stretches of them. Read in order of the index turn_place; a stretch comes as one packed value, which costs a quarter
// of as many rows.

import type { Pool } from 'pg'
import type { SearchFilter } from '../vector-search.ts'
import { filterValues, meets } from './findable.ts'
import { newest, views, visible } from './visible.ts'

/** A part of a room: places `from` to `to`, both included, and the `around` visible turns before and after them. */
export type Stretch = { room: string; from: number; to: number; around: number }

/** A committed turn, in its newest visible version, as the index knows it. */
export type IndexedTurn = {
  room: string
  rootSeq: number
  seq: number
  /** When it was said, ms. */
  at: number
  actor: string
  /** Tokens of its content. */
  tokens: number
  /** Bits of Cue (domain/recall/cues.ts). */
  cues: number
  /** Whether it meets the filter. */
  eligible: boolean
  /** Hashes of its stems in order, unsalted. */
  terms: Int32Array
}

// The CASE is for the planner, as in page-turns.ts: it walks the index until enough are found.
const turns = (where: string, order = '') => `
  (SELECT t.root_seq, t.seq, t.created_at, t.token_count, t.cues, t.actor, t.terms, ${meets(7)} AS eligible
   FROM turn t
   WHERE t.conversation_id = v.id AND ${where}
     AND CASE WHEN t.status = 'COMMITTED' AND ${visible()} AND ${newest()} THEN true ELSE false END ${order})`

const STATEMENT = `
  SELECT s.place::integer AS place, j.salt, p.packed
  FROM unnest($3::text[], $4::integer[], $5::integer[], $6::integer[]) WITH ORDINALITY AS s(room, first, last, around, place)
  CROSS JOIN LATERAL (${views('$1', '$2', 'c.id = s.room')}) v
  JOIN journal j ON j.conversation_id = v.id
  CROSS JOIN LATERAL (
    SELECT string_agg(
      int4send(t.root_seq) || int4send(t.seq) || timestamptz_send(t.created_at) || int4send(t.token_count)
      || int2send((coalesce(t.cues, 0) + CASE WHEN t.eligible THEN 256 ELSE 0 END)::smallint)
      || int4send(octet_length(t.actor)) || textsend(t.actor) || array_send(coalesce(t.terms, '{}')), '') AS packed
    FROM (
      ${turns('t.root_seq BETWEEN s.first AND s.last')}
      UNION ALL ${turns('t.root_seq < s.first', 'ORDER BY t.root_seq DESC, t.seq DESC LIMIT s.around')}
      UNION ALL ${turns('t.root_seq > s.last', 'ORDER BY t.root_seq, t.seq LIMIT s.around')}) t) p`

/**
 * The turns of each stretch that the viewer sees, in order of place. Stretches of rooms that the tenant has not are
 * empty; nothing is said of turns that are still being written, were aborted or erased.
 */
export async function readIndex(
  pool: Pool, viewer: { tenant: string; actor: string }, stretches: readonly Stretch[], filter: SearchFilter,
): Promise<IndexedTurn[][]> {
  const { rows } = await pool.query<{ place: number; salt: number; packed: Buffer | null }>({
    name: 'read-index',
    text: STATEMENT,
    values: [
      viewer.tenant, viewer.actor, stretches.map(({ room }) => room), stretches.map(({ from }) => from),
      stretches.map(({ to }) => to), stretches.map(({ around }) => around), ...filterValues(filter),
    ],
  })
  const found: IndexedTurn[][] = stretches.map(() => [])
  for (const { place, salt, packed } of rows) {
    if (packed) found[place - 1] = unpack(packed, stretches[place - 1]!.room, salt)
  }
  return found
}

const ELIGIBLE = 256
/** Postgres counts microseconds from 2000-01-01. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1)
/** What array_send puts before the elements, where in it their number is, and before each of them; in bytes. */
const ARRAY_HEADER = 20
const ARRAY_LENGTH = 12
const EMPTY_ARRAY = 12
const ELEMENT_HEADER = 4

/** Turns as Postgres' send functions wrote them, all big-endian; in order of place. */
function unpack(packed: Buffer, room: string, salt: number): IndexedTurn[] {
  const turns: IndexedTurn[] = []
  let at = 0
  const int16 = () => packed.readInt16BE((at += 2) - 2)
  const int32 = () => packed.readInt32BE((at += 4) - 4)
  while (at < packed.length) {
    const rootSeq = int32()
    const seq = int32()
    const micros = int32() * 2 ** 32 + (int32() >>> 0)
    const tokens = int32()
    const bits = int16()
    const named = int32()
    const actor = packed.toString('utf8', at, (at += named))
    const isEmpty = packed.readInt32BE(at) === 0
    const terms = new Int32Array(isEmpty ? 0 : packed.readInt32BE(at + ARRAY_LENGTH))
    at += isEmpty ? EMPTY_ARRAY : ARRAY_HEADER
    for (let i = 0; i < terms.length; i++) {
      at += ELEMENT_HEADER
      terms[i] = int32() ^ salt
    }
    turns.push({
      room, rootSeq, seq, at: POSTGRES_EPOCH_MS + Math.round(micros / 1000), actor, tokens,
      cues: bits & (ELIGIBLE - 1), eligible: (bits & ELIGIBLE) !== 0, terms,
    })
  }
  return turns.sort((a, b) => a.rootSeq - b.rootSeq)
}
