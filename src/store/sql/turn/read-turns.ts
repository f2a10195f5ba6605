// Turns by id, and the versions next to them, as far as the viewer sees them.

import type { Pool } from 'pg'
import { TURN_COLUMNS, type TurnRow } from './turn-columns.ts'
import { views, visible } from '../visible.ts'

type Viewer = { tenant: string; actor: string }

const view = `CROSS JOIN LATERAL (${views('$1', '$2', 'c.id = t.conversation_id')}) v`

/** The visible ones among those turns, in no order. By primary key. */
export async function readTurns(pool: Pool, viewer: Viewer, ids: readonly string[]): Promise<TurnRow[]> {
  const { rows } = await pool.query<TurnRow>({
    name: 'read-turns',
    text: `SELECT ${TURN_COLUMNS} FROM turn t ${view} WHERE t.id = ANY ($3::text[]) AND ${visible()}`,
    values: [viewer.tenant, viewer.actor, ids],
  })
  return rows
}

/** The visible ones among the turns at those places, in no order. By the index turn_place. */
export async function readTurnsAt(
  pool: Pool,
  viewer: Viewer,
  places: readonly { conversationId: string; rootSeq: number; seq: number }[],
): Promise<TurnRow[]> {
  const { rows } = await pool.query<TurnRow>({
    name: 'read-turns-at',
    text: `SELECT ${TURN_COLUMNS}
           FROM unnest($3::text[], $4::integer[], $5::integer[]) AS p(conversation_id, root_seq, seq)
           JOIN turn t ON t.conversation_id = p.conversation_id AND t.root_seq = p.root_seq AND t.seq = p.seq
           ${view} WHERE ${visible()}`,
    values: [
      viewer.tenant,
      viewer.actor,
      places.map(({ conversationId }) => conversationId),
      places.map(({ rootSeq }) => rootSeq),
      places.map(({ seq }) => seq),
    ],
  })
  return rows
}

const beside = (which: 'next' | 'previous') => ({
  name: `read-${which}-versions`,
  text: `
    SELECT o.id AS "of", t.*
    FROM turn o
    CROSS JOIN LATERAL (
      SELECT ${TURN_COLUMNS} FROM turn t ${view}
      WHERE t.conversation_id = o.conversation_id AND t.root_seq = o.root_seq
        AND t.seq ${which === 'next' ? '>' : '<'} o.seq AND ${visible()}
      ORDER BY t.seq ${which === 'next' ? 'ASC' : 'DESC'} LIMIT 1) t
    WHERE o.id = ANY ($3::text[])`,
})
const BESIDE = { next: beside('next'), previous: beside('previous') }

/** For each of those turns, the next (or previous) version the viewer sees; without one, no key. */
export async function readVersions(
  pool: Pool,
  viewer: Viewer,
  ids: readonly string[],
  which: 'next' | 'previous',
): Promise<Map<string, TurnRow>> {
  const { rows } = await pool.query<TurnRow & { of: string }>({
    ...BESIDE[which],
    values: [viewer.tenant, viewer.actor, ids],
  })
  return new Map(rows.map(({ of, ...turn }) => [of, turn]))
}

/** What the given streaming turns say so far, without a trailing half of a pair. Finished turns have no key. */
export async function readTextSoFar(pool: Pool, tenant: string, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; text: string }>({
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

/** An open turn's actor, and what it says so far; null for any other turn. */
export async function readOpenTurn(
  pool: Pool,
  tenant: string,
  id: string,
): Promise<{ actor: string; text: string } | null> {
  const { rows } = await pool.query<{ actor: string; text: string }>({
    name: 'read-open-turn',
    text: `SELECT t.actor, (SELECT coalesce(string_agg(k.text, '' ORDER BY k.start), '')
                            FROM chunk k WHERE k.turn_id = t.id) AS text
           FROM stream s
           JOIN turn t ON t.id = s.turn_id
           JOIN conversation c ON c.id = t.conversation_id AND c.tenant = $1::text
           WHERE s.turn_id = $2::text`,
    values: [tenant, id],
  })
  return rows[0] ?? null
}

/** Open turns whose writer has been silent for `silentMs`, longest silence first, at most `limit`, in any tenant. */
export async function readSilentStreams(
  pool: Pool,
  silentMs: number,
  limit: number,
): Promise<{ tenant: string; id: string }[]> {
  const { rows } = await pool.query<{ tenant: string; id: string }>({
    name: 'read-silent-streams',
    text: `SELECT c.tenant, t.id
           FROM stream s
           JOIN turn t ON t.id = s.turn_id
           JOIN conversation c ON c.id = t.conversation_id
           LEFT JOIN LATERAL (SELECT k.written_at FROM chunk k WHERE k.turn_id = s.turn_id
                              ORDER BY k.start DESC LIMIT 1) k ON true
           WHERE greatest(s.renewed_at, k.written_at) < now() - make_interval(secs => $1::double precision / 1000)
           ORDER BY greatest(s.renewed_at, k.written_at) LIMIT $2::integer`,
    values: [silentMs, limit],
  })
  return rows
}
