// Reads the text of open turns from their chunks, by primary key. Named statements of pg: every new subscription and
// every commit runs one (`npm run bench -- fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'

/**
 * The texts so far of the open turns among the ids, by id, without a trailing high surrogate. Other ids have no key.
 */
export async function readTextSoFar(pool: Pool, tenant: string, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; text: string }>({
    scope: tenant,
    name: 'read-text-so-far',
    text: `SELECT s.turn_id AS id, coalesce(string_agg(c.text, '' ORDER BY c.start), '') AS text
           FROM stream s
           JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
           LEFT JOIN chunk c ON c.turn_id = s.turn_id
           WHERE s.turn_id = ANY ($2::text[]) GROUP BY s.turn_id`,
    values: [tenant, ids],
  })
  return new Map(rows.map(({ id, text }) => [id, text]))
}

/**
 * An open turn's actor, its text so far, and whether redaction still holds back text of it; null if the tenant has no
 * such open turn, it has another writer, or its author has left. If `writer` is null, the writer and the author are not
 * checked.
 */
export async function readOpenTurn(
  pool: Pool,
  tenant: string,
  id: string,
  writer: string | null,
): Promise<{ actor: string; text: string; isHeld: boolean } | null> {
  const { rows } = await pool.query<{ actor: string; text: string; isHeld: boolean }>({
    scope: tenant,
    name: 'read-open-turn',
    text: `SELECT t.actor, (SELECT coalesce(string_agg(k.text, '' ORDER BY k.start), '')
                            FROM chunk k WHERE k.turn_id = t.id) AS text,
                  EXISTS (SELECT FROM held_text h WHERE h.turn_id = t.id AND NOT h.sealed) AS "isHeld"
           FROM stream s
           JOIN turn t ON t.id = s.turn_id AND t.conversation_id = s.conversation_id
           JOIN conversation c ON c.id = t.conversation_id AND c.tenant = $1::text
           WHERE s.turn_id = $2::text AND ($3::text IS NULL OR s.writer_hash = $3::text AND EXISTS (
             SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                         AND p.left_at IS NULL))`,
    values: [tenant, id, writer],
  })
  return rows[0] ?? null
}
