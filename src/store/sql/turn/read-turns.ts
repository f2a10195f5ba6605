// Reads visible turns by id or by seq, their next and previous versions, and their version numbers. Uses pg's named
// statements, because every lookup of turns by id and every recall that finds turns runs one of these reads.

import type { Pool } from '../../tenant-pool.ts'
import { TURN_COLUMNS, type TurnRow } from './turn-columns.ts'
import { raw, sql } from '../sql.ts'
import { VIEWER, views, visible } from '../visible.ts'
import type { Viewer } from '../../viewer.ts'

const view = sql`CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = t.conversation_id'))}) v`

const READ_TURNS = sql`SELECT ${TURN_COLUMNS} FROM turn t ${view} WHERE t.id = ANY ($3::text[]) AND ${visible()}`.text

const READ_TURNS_AT = sql`
  SELECT ${TURN_COLUMNS}
  FROM unnest($3::text[], $4::integer[], $5::integer[]) AS p(conversation_id, root_seq, seq)
  JOIN turn t ON t.conversation_id = p.conversation_id AND t.root_seq = p.root_seq AND t.seq = p.seq
  ${view} WHERE ${visible()}`.text

/** The visible turns among the ids, unordered. Uses the primary key. */
export async function readTurns(pool: Pool, viewer: Viewer, ids: readonly string[]): Promise<TurnRow[]> {
  const { rows } = await pool.query<TurnRow>({
    scope: viewer.tenant,
    name: 'read-turns',
    text: READ_TURNS,
    values: [viewer.tenant, viewer.actor, ids],
  })
  return rows
}

/** The visible turn versions with these seqs, unordered. Uses the index turn_place. */
export async function readTurnsAt(
  pool: Pool,
  viewer: Viewer,
  versions: readonly { conversationId: string; position: number; seq: number }[],
): Promise<TurnRow[]> {
  const { rows } = await pool.query<TurnRow>({
    scope: viewer.tenant,
    name: 'read-turns-at',
    text: READ_TURNS_AT,
    values: [
      viewer.tenant,
      viewer.actor,
      versions.map(({ conversationId }) => conversationId),
      versions.map(({ position }) => position),
      versions.map(({ seq }) => seq),
    ],
  })
  return rows
}

const adjacent = (which: 'next' | 'previous') => ({
  name: `read-${which}-versions`,
  text: sql`
    SELECT o.id AS "of", t.*
    FROM turn o
    CROSS JOIN LATERAL (
      SELECT ${TURN_COLUMNS} FROM turn t ${view}
      WHERE t.conversation_id = o.conversation_id AND t.root_seq = o.root_seq
        AND t.seq ${raw(which === 'next' ? '>' : '<')} o.seq AND ${visible()}
      ORDER BY t.seq ${raw(which === 'next' ? 'ASC' : 'DESC')} LIMIT 1) t
    WHERE o.id = ANY ($3::text[])`.text,
})
const ADJACENT = { next: adjacent('next'), previous: adjacent('previous') }

/** For each turn, by id: the next or previous version that the viewer sees. A turn without one has no key. */
export async function readVersions(
  pool: Pool,
  viewer: Viewer,
  ids: readonly string[],
  which: 'next' | 'previous',
): Promise<Map<string, TurnRow>> {
  const { rows } = await pool.query<TurnRow & { of: string }>({
    scope: viewer.tenant,
    ...ADJACENT[which],
    values: [viewer.tenant, viewer.actor, ids],
  })
  return new Map(rows.map(({ of, ...turn }) => [of, turn]))
}

// Numbers all versions of each turn at once, so that the cost grows with the versions, not with their square.
const VERSION_NUMBERS = sql`
  SELECT n.id, n.version
  FROM (SELECT DISTINCT t.conversation_id, t.root_seq FROM turn t WHERE t.id = ANY ($3::text[])) o
  CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = o.conversation_id'))}) v
  CROSS JOIN LATERAL (
    SELECT t.id, (row_number() OVER (ORDER BY t.seq))::integer AS version FROM turn t
    WHERE t.conversation_id = o.conversation_id AND t.root_seq = o.root_seq AND ${visible()}) n
  WHERE n.id = ANY ($3::text[])`.text

/** The number of each version, by id: 1 for the first version that the viewer sees. Uses the index turn_place. */
export async function readVersionNumbers(
  pool: Pool,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ id: string; version: number }>({
    scope: viewer.tenant,
    name: 'read-version-numbers',
    text: VERSION_NUMBERS,
    values: [viewer.tenant, viewer.actor, ids],
  })
  return new Map(rows.map(({ id, version }) => [id, version]))
}
