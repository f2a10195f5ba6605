// How many turns conversations hold, by the counters of their journals' heads (primary key). Not narrowed to a view: it chooses
// how to search, never what is found.

import type { Pool } from 'pg'

/** Public committed turns of those conversations together. */
export async function countScope(pool: Pool, conversationIds: readonly string[]): Promise<number> {
  const { rows } = await pool.query<{ turns: number }>({
    name: 'count-scope',
    text: `
      SELECT coalesce(sum(j.turn_count), 0)::bigint AS turns
      FROM journal j
      WHERE j.conversation_id = ANY ($1::text[])`,
    values: [conversationIds],
  })
  return rows[0]!.turns
}
