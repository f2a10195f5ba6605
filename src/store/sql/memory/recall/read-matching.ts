// Finds the turns of conversations that match a filter, by the index turn_place. Not limited to a view.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { SearchFilter } from '../../../vectors/vector-search.ts'
import { sql } from '../../kernel/sql.ts'
import { filterParameters, filterValues, matches } from './findable.ts'

/** The seqs of the matching committed versions, by conversation. */
export async function readMatching(
  pool: Pool,
  tenant: string,
  conversationIds: readonly string[],
  filter: SearchFilter,
): Promise<Map<string, ReadonlySet<number>>> {
  const { rows } = await pool.query<{ conversationId: string; seqs: number[] }>({
    scope: tenant,
    name: 'read-matching',
    text: sql`
      SELECT t.conversation_id AS "conversationId", array_agg(t.seq) AS seqs FROM turn t
      WHERE t.conversation_id = ANY ($1::text[]) AND t.status = 'COMMITTED' AND ${matches(filterParameters(2))}
      GROUP BY t.conversation_id`.text,
    values: [conversationIds, ...filterValues(filter)],
  })
  return new Map(rows.map(({ conversationId, seqs }) => [conversationId, new Set(seqs)]))
}
