// Reads visible turns by id or by seq, their next and previous versions, and their version numbers. Uses pg's named
// statements, because every lookup of turns by id and every recall that finds turns runs one of these reads.

import { readOf, type Read } from '../../db/read.ts'
import type { Pool } from '../../db/tenant-pool.ts'
import { SELECTED_COLUMNS, TURN_COLUMNS, turnOf, type TurnRow } from './turn-columns.ts'
import { parameter, raw, sql } from '../kernel/sql.ts'
import { among, howMany, VIEWER, views, visible, type HowMany } from '../kernel/visible.ts'
import type { Viewer } from '../../db/scope.ts'

const view = sql`CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = t.conversation_id'))}) v`

const READ_TURNS = sql`SELECT ${TURN_COLUMNS} FROM turn t ${view} WHERE t.id = ANY ($3::text[]) AND ${visible()}`.text

const at = (conversations: HowMany) => ({
  name: `read-turns-at-${conversations}`,
  text: sql`
    SELECT ${SELECTED_COLUMNS}
    FROM (${views(VIEWER, among(parameter(3), conversations))}) v
    JOIN unnest($4::text[], $5::integer[], $6::integer[]) AS p(conversation_id, root_seq, seq) ON p.conversation_id = v.id
    CROSS JOIN LATERAL (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = ${raw(conversations === 'one' ? '($3::text[])[1]' : 'p.conversation_id')} AND t.root_seq = p.root_seq AND t.seq = p.seq AND ${visible()}) t`
    .text,
})
const READ_TURNS_AT = { one: at('one'), many: at('many') }

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
export function turnsAtRead(
  { tenant, actor }: Viewer,
  versions: readonly { conversationId: string; position: number; seq: number }[],
): Read<TurnRow[]> {
  const conversationIds = [...new Set(versions.map(({ conversationId }) => conversationId))]
  return readOf(
    {
      rowMode: 'array',
      ...READ_TURNS_AT[howMany(conversationIds)],
      values: [
        tenant,
        actor,
        conversationIds,
        versions.map(({ conversationId }) => conversationId),
        versions.map(({ position }) => position),
        versions.map(({ seq }) => seq),
      ],
    },
    (rows: unknown[][]) => rows.map(turnOf),
  )
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
