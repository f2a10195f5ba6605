// Reads the index entries of turns for ranking: seqs, time, actor, cues and terms, for conversations or parts of them.
// Uses the index turn_place and pg's named statements.

import type { Pool } from '../../../db/tenant-pool.ts'
import { TermCounter, type TermCounts } from '../../../../text/words/hashed-terms.ts'
import { createYield } from '../../../../runtime/yield.ts'
import type { SearchFilter } from '../../../vectors/vector-search.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { filterParameters, filterValues, matches } from './findable.ts'
import { emptyTurns, numbering, type IndexedTurns } from './indexed-turns.ts'
import { packedColumns, readPacked, type PackedTurns } from './packed-turns.ts'
import { newest, VIEWER, views, visible } from '../../kernel/visible.ts'

/**
 * A part of a conversation: the positions `from` to `to`, inclusive, and up to `around` visible turns on either side.
 */
export type TurnRange = { conversationId: string; from: number; to: number; around: number }

/** Consecutive turns in order of position, each in its newest visible version, and the terms found in them. */
export type IndexedRange = {
  turns: IndexedTurns
  /** The occurrences of the requested terms in each turn. */
  counts: TermCounts
  /** By the turn's index: 1 if it matches the filter, otherwise 0. */
  eligible: Uint8Array
}

/** A bit that Cue does not use; set if the turn matches the filter. */
const ELIGIBLE = 256

// The CASE makes the planner read the index only until enough turns are found; see page-turns.ts.
const turns = (where: string, order = ''): Sql => sql`
  (SELECT t.root_seq, t.seq, t.created_at, t.token_count, t.cues, t.actor, t.terms, ${matches(filterParameters(7))} AS eligible
   FROM turn t
   WHERE t.conversation_id = v.id AND ${raw(where)}
     AND CASE WHEN t.status = 'COMMITTED' AND ${visible()} AND ${newest()} THEN true ELSE false END ${raw(order)})`

const STATEMENT = sql`
  SELECT s.ordinal::integer AS ordinal, j.salt, p.*
  FROM unnest($3::text[], $4::integer[], $5::integer[], $6::integer[])
       WITH ORDINALITY AS s(conversation_id, first, last, around, ordinal)
  CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = s.conversation_id'))}) v
  JOIN journal j ON j.conversation_id = v.id
  CROSS JOIN LATERAL (
    SELECT ${packedColumns(`coalesce(t.cues, 0) + CASE WHEN t.eligible THEN ${ELIGIBLE} ELSE 0 END`)}
    FROM (
      ${turns('t.root_seq BETWEEN s.first AND s.last')}
      UNION ALL ${turns('t.root_seq < s.first', 'ORDER BY t.root_seq DESC, t.seq DESC LIMIT s.around')}
      UNION ALL ${turns('t.root_seq > s.last', 'ORDER BY t.root_seq, t.seq LIMIT s.around')}) t) p`.text

/** The turns of a range. */
type Packed = { ordinal: number; salt: number } & PackedTurns

/**
 * The turns of each range that the viewer sees, in order of position. Excludes open, aborted and erased turns. The
 * range of a conversation that the viewer does not see is empty.
 *
 * @param terms the terms to count: maps each term's hash (domain/memory/indexing/index-entry.ts) to its key in `counts`
 */
export async function readIndex(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  ranges: readonly TurnRange[],
  { filter, terms }: { filter: SearchFilter; terms: ReadonlyMap<number, number> },
): Promise<IndexedRange[]> {
  const { rows } = await pool.query<Packed>({
    scope: viewer.tenant,
    name: 'read-index',
    text: STATEMENT,
    values: [
      viewer.tenant,
      viewer.actor,
      ranges.map(({ conversationId }) => conversationId),
      ranges.map(({ from }) => from),
      ranges.map(({ to }) => to),
      ranges.map(({ around }) => around),
      ...filterValues(filter),
    ],
  })
  const found = ranges.map(({ conversationId }) => noTurns(conversationId))
  for (const row of rows) found[row.ordinal - 1] = await unpack(row, ranges[row.ordinal - 1]!.conversationId, terms)
  return found
}

/** Number of turns after which unpacking checks whether to yield to the event loop. */
const YIELD_AFTER = 64

const noTurns = (conversationId: string): IndexedRange => ({
  turns: emptyTurns(conversationId, 0),
  counts: new TermCounter(new Map(), 0).finish(),
  eligible: new Uint8Array(),
})

/** Returns the turns in order of position. Counts only the requested terms, because there are many turns. */
async function unpack(
  packed: Packed,
  conversationId: string,
  requested: ReadonlyMap<number, number>,
): Promise<IndexedRange> {
  const read = readPacked(packed, packed.salt)
  if (read === null) return noTurns(conversationId)
  const order = Array.from({ length: read.size }, (_, i) => i).sort((a, b) => read.position(a) - read.position(b))
  const turns = emptyTurns(conversationId, read.size)
  const actorNumber = numbering(turns.names)
  const eligible = new Uint8Array(read.size)
  const counter = new TermCounter(requested, read.size)
  const yieldIfDue = createYield()
  for (const [index, i] of order.entries()) {
    if (index % YIELD_AFTER === 0) await yieldIfDue()
    const terms = read.terms(i)
    for (const term of terms) counter.add(term)
    counter.endText()
    const bits = read.bits(i)
    eligible[index] = (bits & ELIGIBLE) === 0 ? 0 : 1
    turns.positions[index] = read.position(i)
    turns.seqs[index] = read.seq(i)
    turns.times[index] = read.time(i)
    turns.actors[index] = actorNumber(read.actor(i))
    turns.tokens[index] = read.tokens(i)
    turns.cues[index] = bits & (ELIGIBLE - 1)
    turns.lengths[index] = terms.length
  }
  return { turns, counts: counter.finish(), eligible }
}
