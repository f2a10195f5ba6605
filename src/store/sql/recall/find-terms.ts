// Finds the turns that contain a term, for scopes that are too large to read completely. The database function
// find_turns_with_terms finds their keys in the index turn_terms, whose terms are salted by conversation; the statement
// reads the turns by the index turn_place. Uses pg instead of Prisma, because the packed values are large
// (`npm run bench -- recall`).

import type { Pool } from '../../tenant-pool.ts'
import { createYield } from '../../../yield.ts'
import type { SearchFilter } from '../../vector-search.ts'
import { raw, sql } from '../sql.ts'
import { filterParameters, filterValues, matches } from './findable.ts'
import { newest, VIEWER, views, visible } from '../visible.ts'

/** A committed turn, in its newest visible version, that contains a term. */
type Posting = {
  conversationId: string
  position: number
  seq: number
  /** Number of occurrences of the term, at most 16,383. */
  count: number
  /** Number of terms in the turn, at most 32,767. */
  length: number
  /** Whether the turn matches the filter. */
  eligible: boolean
}

/** Size of a packed posting, in bytes. */
const POSTING_BYTES = 16

const STATEMENT = sql`
  WITH v AS MATERIALIZED (
    SELECT v.*, j.salt, array_position($3::text[], v.id) AS ordinal
    FROM (${views(VIEWER, raw('c.id = ANY ($3::text[])'))}) v
    JOIN journal j ON j.conversation_id = v.id)
  SELECT h.term::integer AS ordinal,
         string_agg(int4send(v.ordinal) || int4send(t.root_seq) || int4send(t.seq) || int2send(t.count)
                    || int2send(t.length), '') AS packed
  FROM find_turns_with_terms($2::text, ARRAY(SELECT v.id FROM v), $4::integer[], $5::integer) h
  JOIN v ON v.id = h.conversation_id
  -- The LIMIT keeps the planner from joining in another order than by the keys that the function returns.
  CROSS JOIN LATERAL (
    SELECT t.root_seq, t.seq, least(cardinality(t.terms), 32767)::smallint AS length,
           (least(cardinality(array_positions(t.terms, ($4::integer[])[h.term] # v.salt)), 16383)
            * CASE WHEN ${matches(filterParameters(6))} THEN 1 ELSE -1 END)::smallint AS count
    FROM turn t
    WHERE t.conversation_id = h.conversation_id AND t.root_seq = h.root_seq AND t.seq = h.seq
      AND t.status = 'COMMITTED' AND ${visible()} AND ${newest()}
    LIMIT 1) t
  GROUP BY h.term`.text

/**
 * For each term, returns the turns visible to the viewer that contain it, unordered. Reads at most `limit`
 * turns per term; a few of these may be dropped, because they match only under another conversation's salt.
 */
export async function findTerms(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationIds: readonly string[],
  terms: readonly number[],
  limit: number,
  filter: SearchFilter,
): Promise<Posting[][]> {
  // Uses an unnamed statement, so that Postgres plans it for these values; a generic plan takes six times as long.
  const { rows } = await pool.query<{ ordinal: number; packed: Buffer | null }>({
    scope: viewer.tenant,
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, conversationIds, terms, limit, ...filterValues(filter)],
  })
  const found: Posting[][] = terms.map(() => [])
  const yieldIfDue = createYield()
  for (const { ordinal, packed } of rows) {
    if (packed) found[ordinal - 1] = unpack(packed, conversationIds)
    await yieldIfDue()
  }
  return found
}

function unpack(packed: Uint8Array, conversationIds: readonly string[]): Posting[] {
  const postings: Posting[] = []
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
  for (let at = 0; at < packed.length; at += POSTING_BYTES) {
    const count = view.getInt16(at + 12)
    // The statement accepts the term under any conversation's salt. A count of 0 means that the turn does not contain
    // the term under the salt of its own conversation.
    if (count === 0) continue
    postings.push({
      conversationId: conversationIds[view.getInt32(at) - 1]!,
      position: view.getInt32(at + 4),
      seq: view.getInt32(at + 8),
      count: Math.abs(count),
      length: view.getInt16(at + 14),
      eligible: count > 0,
    })
  }
  return postings
}
