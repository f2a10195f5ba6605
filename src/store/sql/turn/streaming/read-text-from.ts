// Reads the end of an open turn's text from its chunks, by primary key. Uses a named statement of pg, because it runs
// often: for the deltas of turns with an audience. The text of these turns is not published on the bus.

import type { Pool } from '../../../db/tenant-pool.ts'

/**
 * Returns the text of the chunks that end after `from`, without a trailing high surrogate, and the UTF-16 offset at
 * which the text starts. Null if there are no such chunks, or if the tenant has no such open turn.
 */
export async function readTextFrom(
  pool: Pool,
  tenant: string,
  turnId: string,
  from: number,
): Promise<{ start: number; text: string } | null> {
  const { rows } = await pool.query<{ start: number | null; text: string }>({
    scope: tenant,
    name: 'read-text-from',
    text: `SELECT min(c.start) AS start, string_agg(c.text, '' ORDER BY c.start) AS text
           FROM stream s
           JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
           JOIN chunk c ON c.turn_id = s.turn_id AND c."end" > $3::integer
           WHERE s.turn_id = $2::text`,
    values: [tenant, turnId, from],
  })
  const [row] = rows
  return row && row.start !== null ? { start: row.start, text: row.text } : null
}
