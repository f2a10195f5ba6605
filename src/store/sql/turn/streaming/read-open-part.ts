// Reads the end of an open turn's text, or of one of its parts, from the chunks, by primary key. Uses a named statement
// of pg, because it runs often: for the deltas of turns with an audience. Their content is not published on the bus.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { OpenPart } from './open-content.ts'

/** The end of a text, from UTF-16 offset `start`. `part` has the other properties of the part; null for part 0. */
export type OpenText = { start: number; text: string; part: Omit<OpenPart, 'number' | 'text'> | null }

/**
 * Returns the text of the chunks that end after `from`, without a trailing high surrogate. Without such chunks, the text
 * is empty and starts at `from`. Null if the tenant has no such open turn, or the turn has no such part.
 * @param number of the part; 0 for the turn's text
 */
export async function readOpenPart(
  pool: Pool,
  tenant: string,
  { turnId, number, from }: { turnId: string; number: number; from: number },
): Promise<OpenText | null> {
  const { rows } = await pool.query<OpenText>({
    scope: tenant,
    name: 'read-open-part',
    text: `SELECT coalesce(k.start, $3::integer) AS start, coalesce(k.text, '') AS text,
                  CASE WHEN p.number IS NOT NULL THEN
                    json_build_object('at', p.at, 'content', p.content, 'isComplete', p.is_complete) END AS part
           FROM stream s
           JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
           LEFT JOIN stream_part p ON p.turn_id = s.turn_id AND p.number = $4::smallint
           CROSS JOIN LATERAL (
             SELECT min(c.start) AS start, string_agg(c.text, '' ORDER BY c.start) AS text
             FROM chunk c WHERE c.turn_id = s.turn_id AND c.part = $4::smallint AND c."end" > $3::integer) k
           WHERE s.turn_id = $2::text AND ($4::smallint = 0 OR p.number IS NOT NULL)`,
    values: [tenant, turnId, from, number],
  })
  return rows[0] ?? null
}
