// Reads and replaces the text of an open turn that redaction holds back (prisma/functions/append_held.sql). It is
// stored as UTF-16, because it may end in half of a surrogate pair.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { ChunkRow, Delta } from './append-chunks.ts'

export type HeldText = {
  /** The actor who opened the turn, and the hash of the writer's token. */
  viewer: string
  writer: string
  version: number
  /** Length of the text that the writer has sent, in UTF-16 units. */
  sent: number
  raw: string
  /** Length of the part of `raw` that is published, in UTF-16 units. */
  published: number
  sealed: boolean
  /** Length of the published text of the turn, in UTF-8 bytes. */
  bytes: number
}

/**
 * Begins to hold back the text of the tenant's open turn. Does nothing if the turn has text already, is not open, or is
 * already held back.
 */
export async function holdText(pool: Pool, tenant: string, turnId: string): Promise<void> {
  await pool.query({
    scope: tenant,
    name: 'hold-text',
    text: `INSERT INTO held_text (turn_id, tenant, version, sent, raw, published, sealed)
           SELECT s.turn_id, s.tenant, 1, 0, '', 0, false FROM stream s
           WHERE s.turn_id = $2::text AND s.tenant = $1::text
             AND NOT EXISTS (SELECT FROM chunk c WHERE c.turn_id = s.turn_id)
           ON CONFLICT DO NOTHING`,
    values: [tenant, turnId],
  })
}

/** Returns the held text of the tenant's open turn; null if the turn is not open, or its text is not held back. */
export async function readHeldText(pool: Pool, tenant: string, turnId: string): Promise<HeldText | null> {
  const { rows } = await pool.query<Omit<HeldText, 'raw'> & { raw: Buffer }>({
    scope: tenant,
    name: 'read-held-text',
    text: `SELECT s.viewer, s.writer_hash AS writer, h.version, h.sent, h.raw, h.published, h.sealed,
                  coalesce(c.bytes, 0) AS bytes
           FROM stream s
           JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
           JOIN held_text h ON h.turn_id = s.turn_id
           LEFT JOIN LATERAL (
             SELECT k."end", k.bytes FROM chunk k WHERE k.turn_id = s.turn_id ORDER BY k.start DESC LIMIT 1) c ON true
           WHERE s.turn_id = $2::text`,
    values: [tenant, turnId],
  })
  const [row] = rows
  return row ? { ...row, raw: row.raw.toString('utf16le') } : null
}

/** Appends released text and replaces the held text, unless it has another version. */
export async function appendHeld(
  pool: Pool,
  delta: Delta,
  limit: number,
  held: Pick<HeldText, 'version' | 'sent' | 'raw' | 'published' | 'sealed'>,
): Promise<Omit<ChunkRow, 'outcome'> & { outcome: ChunkRow['outcome'] | 'moved' }> {
  const { rows } = await pool.query<Omit<ChunkRow, 'outcome'> & { outcome: ChunkRow['outcome'] | 'moved' }>({
    scope: delta.tenant,
    name: 'append-held',
    text: `SELECT place AS index, outcome, conversation_id AS "conversationId", start, text, "end", half, status,
                  coalesce((SELECT t.audience IS NOT NULL FROM turn t
                            WHERE t.id = $1::jsonb ->> 'turn' AND t.conversation_id = c.conversation_id), true)
                    AS "isPrivate"
           FROM append_held($1::jsonb, $2::integer, $3::integer, $4::integer, $5::bytea, $6::integer, $7::boolean) c`,
    values: [
      JSON.stringify(delta),
      limit,
      held.version,
      held.sent,
      Buffer.from(held.raw, 'utf16le'),
      held.published,
      held.sealed,
    ],
  })
  return rows[0]!
}
