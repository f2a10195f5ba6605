// Finds the turns that contain a term, for scopes whose words are not in memory. The database function
// find_turns_with_terms finds their keys in the index turn_terms, whose terms are salted by conversation; a filter
// reads the turns by the index turn_place. Uses pg instead of Prisma, because the packed values are large (`npm run
// bench -- recall`).

import type { Pool } from '../../../db/tenant-pool.ts'
import { createYield } from '../../../../runtime/yield.ts'
import type { SearchFilter } from '../../../vectors/vector-search.ts'
import { empty, raw, sql, type Sql } from '../../kernel/sql.ts'
import { filterParameters, filterValues, hasConditions, matches } from './findable.ts'
import { VIEWER, views } from '../../kernel/visible.ts'

/** A committed turn, in its newest visible version, that contains a term. */
export type Posting = {
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

/** @param sign FROM items after `h`, and the expression that is 1 for turns that match the filter, otherwise -1 */
const statement = (sign: { from: Sql; value: Sql }) =>
  sql`
  WITH v AS MATERIALIZED (
    SELECT array_agg(v.id) AS ids, array_agg(g.ordinal::integer) AS ordinals
    FROM (${views(VIEWER, raw('c.id = ANY ($3::text[])'))}) v
    JOIN unnest($3::text[]) WITH ORDINALITY AS g(id, ordinal) ON g.id = v.id)
  SELECT h.term AS ordinal,
         string_agg(int4send(v.ordinals[h.conversation]) || int4send(h.root_seq) || int4send(h.seq)
                    || int2send((h.count * ${sign.value})::smallint) || int2send(h.length::smallint), '') AS packed
  FROM v CROSS JOIN find_turns_with_terms($2::text, v.ids, $4::integer[], $5::integer) h ${sign.from}
  GROUP BY h.term`.text

const UNFILTERED = statement({ from: empty, value: raw('1') })
const FILTERED = statement({
  // The LIMIT keeps the planner from joining in another order than by the keys that the function returns.
  from: sql`
  CROSS JOIN LATERAL (
    SELECT CASE WHEN ${matches(filterParameters(6))} THEN 1 ELSE -1 END AS sign FROM turn t
    WHERE t.conversation_id = v.ids[h.conversation] AND t.root_seq = h.root_seq AND t.seq = h.seq LIMIT 1) t`,
  value: raw('t.sign'),
})

/**
 * For each term, returns the turns visible to the viewer that contain it, unordered. Reads at most `limit`
 * turns per term; a few of these may be dropped, because they match only under another conversation's salt.
 */
export async function findTerms(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationIds: readonly string[],
  { terms, filter, limit }: { terms: readonly number[]; filter: SearchFilter; limit: number },
): Promise<Posting[][]> {
  // Uses an unnamed statement, so that Postgres plans it for these values; a generic plan takes six times as long.
  const { rows } = await pool.query<{ ordinal: number; packed: Buffer | null }>({
    scope: viewer.tenant,
    text: hasConditions(filter) ? FILTERED : UNFILTERED,
    values: [
      ...[viewer.tenant, viewer.actor, conversationIds, terms, limit],
      ...(hasConditions(filter) ? filterValues(filter) : []),
    ],
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
