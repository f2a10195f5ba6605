// Reads the shared state of conversations in the view of a viewer: by key, as pages, or all of a conversation. A
// conversation has at most MAX_KEYS keys, so each read uses a prefix of the primary key.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Db } from '../../../db/db.ts'
import { readOf, type Read } from '../../../db/read.ts'
import type { Viewer } from '../../../db/scope.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { among, howMany, stateVisible, VIEWER, views } from '../../kernel/visible.ts'

export type SharedStateRow = {
  conversationId: string
  key: string
  /** Any JSON value. */
  value: unknown
  version: number
  /** The JSON Schema of the value; null for any value. */
  schema: Record<string, unknown> | null
  /** The participants who see it; null for everyone who sees the conversation. */
  audience: string[] | null
  updatedBy: string
  createdAt: Date
  updatedAt: Date
}

export const STATE_COLUMNS = raw(`
  s.conversation_id AS "conversationId", s.key, s.value, s.version, s.schema, s.audience, s.updated_by AS "updatedBy",
  s.created_at AS "createdAt", s.updated_at AS "updatedAt"`)

/** Identifies the state of one key. */
export type StateKey = { conversationId: string; key: string }

const BY_KEY = sql`
  SELECT ${STATE_COLUMNS}
  FROM (${views(VIEWER, raw('c.id = ANY ($3::text[])'))}) v
  JOIN unnest($3::text[], $4::text[]) AS k(conversation_id, key) ON k.conversation_id = v.id
  JOIN shared_state s ON s.conversation_id = k.conversation_id AND s.key = k.key
  WHERE ${stateVisible()}`.text

/** The visible states of the keys, unordered. Uses a named statement, because each event of a change reads its state. */
export async function readSharedStates(
  pool: Pool,
  { tenant, actor }: Viewer,
  keys: readonly StateKey[],
): Promise<SharedStateRow[]> {
  const { rows } = await pool.query<SharedStateRow>({
    scope: tenant,
    name: 'read-shared-states',
    text: BY_KEY,
    values: [tenant, actor, keys.map(({ conversationId }) => conversationId), keys.map(({ key }) => key)],
  })
  return rows
}

type StatePage = {
  limit: number
  /** Maximum size of the values of one conversation, in bytes of JSON. The first one is always read. */
  maxBytes: number
  after: string | null
  before: string | null
  backwards: boolean
}

/**
 * For each conversation, at most `limit` of the visible states, by key; if `backwards`, the last ones, in reverse. `isCut`:
 * whether more of these were left out because of `maxBytes`.
 */
export function pageSharedStates(
  db: Db,
  viewer: Viewer,
  conversationIds: readonly string[],
  { limit, maxBytes, after, before, backwards }: StatePage,
): Promise<(SharedStateRow & { isCut: boolean })[]> {
  const order = raw(`ORDER BY s.key ${backwards ? 'DESC' : 'ASC'}`)
  const beyond = (bound: string | null, operator: '<' | '>'): Sql =>
    bound === null ? raw('true') : sql`s.key ${raw(operator)} ${bound}::text COLLATE "C"`
  return db.of(viewer.tenant).$queryRaw<(SharedStateRow & { isCut: boolean })[]>`
    SELECT x.* FROM (${views(viewer, among(conversationIds, howMany(conversationIds)))}) v
    CROSS JOIN LATERAL (
      SELECT ${STATE_COLUMNS}, s."isCut"
      FROM (
        SELECT s.*, bool_or(s.bytes_before >= ${maxBytes}::integer) OVER () AS "isCut"
        FROM (
          SELECT s.*, sum(s.bytes) OVER (${order}) - s.bytes AS bytes_before FROM shared_state s
          WHERE s.conversation_id = v.id AND ${stateVisible()} AND ${beyond(after, '>')} AND ${beyond(before, '<')}
          ${order} LIMIT ${limit}::integer) s) s
      WHERE s.bytes_before < ${maxBytes}::integer
      ${order}) x`
}

/** A state as a context contains it. `value` is read if `hasValue`. `bytes`: size of the value's JSON. */
export type ContextStateRow = Pick<SharedStateRow, 'key' | 'value' | 'version' | 'audience'> & {
  hasValue: boolean
  bytes: number
}

const OF_CONTEXT = sql`
  SELECT key, version, audience, bytes, has_value AS "hasValue", CASE WHEN has_value THEN value END AS value
  FROM (
    SELECT s.*, s.bytes <= $4::integer AND sum(CASE WHEN s.bytes <= $4::integer THEN s.bytes ELSE 0 END)
      OVER (ORDER BY s.created_at, s.key) <= $4::integer AS has_value
    FROM (${views(VIEWER, raw('c.id = $3::text'))}) v JOIN shared_state s ON s.conversation_id = v.id
    WHERE ${stateVisible()}) s
  ORDER BY created_at, key`.text

/**
 * All visible states of the conversation, oldest key first, with the values that have at most `maxBytes` in sum. Uses a
 * named statement, because every context runs this read in a batch with others (`npm run bench -- context`).
 */
export const contextStatesRead = (
  { tenant, actor }: Viewer,
  conversationId: string,
  maxBytes: number,
): Read<ContextStateRow[]> =>
  readOf(
    { name: 'read-context-states', text: OF_CONTEXT, values: [tenant, actor, conversationId, maxBytes] },
    (rows: ContextStateRow[]) => rows,
  )
