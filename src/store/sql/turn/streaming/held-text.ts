// Reads and replaces the texts of an open turn and of its parts that redaction holds back (prisma/functions/append_held.sql). It is
// stored as UTF-16, because it may end in half of a surrogate pair.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { ChunkRow, Delta } from './append-chunks.ts'

/** The held-back text of one part of an open turn, or of its text for part 0. */
export type HeldText = {
  /** The actor who opened the turn, and the hash of the writer's token. */
  viewer: string
  writer: string
  /** Null for a part of which nothing was written yet. */
  version: number | null
  /** Length of the text that the writer has sent, in UTF-16 units. */
  sent: number
  raw: string
  /** Length of the part of `raw` that is published, in UTF-16 units. */
  published: number
  sealed: boolean
  /** The stored part without its text; null for part 0, and for a part of which nothing was written yet. */
  content: Readonly<Record<string, unknown>> | null
  isComplete: boolean
  /** Published UTF-8 bytes of the turn's text and parts, and the UTF-16 units held back of all other texts. */
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
    text: `INSERT INTO held_text (turn_id, part, tenant, version, sent, raw, published, sealed)
           SELECT s.turn_id, 0, s.tenant, 1, 0, '', 0, false FROM stream s
           WHERE s.turn_id = $2::text AND s.tenant = $1::text
             AND NOT EXISTS (SELECT FROM chunk c WHERE c.turn_id = s.turn_id)
             AND NOT EXISTS (SELECT FROM stream_part p WHERE p.turn_id = s.turn_id)
           ON CONFLICT DO NOTHING`,
    values: [tenant, turnId],
  })
}

/**
 * Returns the held text of a part of the tenant's open turn; null if the turn is not open, or its text is not held back.
 * @param part number of the part; 0 for the turn's text
 */
export async function readHeldText(pool: Pool, tenant: string, turnId: string, part: number): Promise<HeldText | null> {
  const { rows } = await pool.query<Omit<HeldText, 'raw'> & { raw: Buffer }>({
    scope: tenant,
    name: 'read-held-text',
    text: `SELECT s.viewer, s.writer_hash AS writer, h.version, coalesce(h.sent, 0) AS sent, coalesce(h.raw, '') AS raw,
                  coalesce(h.published, 0) AS published, coalesce(h.sealed, false) AS sealed,
                  p.content, coalesce(p.is_complete, false) AS "isComplete",
                  (coalesce(c.bytes, 0) + s.part_bytes + coalesce(o.units, 0))::integer AS bytes
           FROM stream s
           JOIN conversation r ON r.id = s.conversation_id AND r.tenant = $1::text
           JOIN held_text t ON t.turn_id = s.turn_id AND t.part = 0
           LEFT JOIN held_text h ON h.turn_id = s.turn_id AND h.part = $3::smallint
           LEFT JOIN stream_part p ON p.turn_id = s.turn_id AND p.number = $3::smallint
           LEFT JOIN LATERAL (
             SELECT k.bytes FROM chunk k WHERE k.turn_id = s.turn_id AND k.part = 0
             ORDER BY k.start DESC LIMIT 1) c ON true
           CROSS JOIN LATERAL (
             SELECT sum(octet_length(x.raw) / 2 - x.published) AS units FROM held_text x
             WHERE x.turn_id = s.turn_id AND x.part <> $3::smallint) o
           WHERE s.turn_id = $2::text`,
    values: [tenant, turnId, part],
  })
  const [row] = rows
  return row ? { ...row, raw: row.raw.toString('utf16le') } : null
}

/** The numbers of the parts of the tenant's open turn of which text is held back; 0 stands for the turn's text. */
export async function readHeldParts(pool: Pool, tenant: string, turnId: string): Promise<number[]> {
  const { rows } = await pool.query<{ part: number }>({
    scope: tenant,
    name: 'read-held-parts',
    text: `SELECT h.part FROM stream s JOIN held_text h ON h.turn_id = s.turn_id AND NOT h.sealed
           WHERE s.turn_id = $2::text AND s.tenant = $1::text ORDER BY h.part`,
    values: [tenant, turnId],
  })
  return rows.map(({ part }) => part)
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
    text: `SELECT place AS index, outcome, conversation_id AS "conversationId", start, text, "end", half, status, at,
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
