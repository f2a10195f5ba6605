// Reads the turns of a context, each in the newest version that the viewer sees: recent turns, and turns that a context
// includes regardless of their age. Uses pg's named statements with positional rows, because every context runs them
// (`npm run bench -- context`).

import { readOf, readOne, type Read } from '../../../db/read.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import { SELECTED_COLUMNS, TURN_COLUMNS, turnOf, type TurnRow } from '../../turn/turn-columns.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { newest, VIEWER, views, visible } from '../../kernel/visible.ts'
import type { Viewer } from '../../../db/scope.ts'

// The conditions on turns name the parameter, so that Postgres reads only one partition (partitions.ts).
const conversation = sql`(${views(VIEWER, raw('c.id = $3::text'))}) v`

// The CASE makes the planner read the index turn_place from the newest turn, and stop at the limit; see page-turns.ts.
const RECENT = {
  name: 'context-recent-turns',
  text: sql`
    SELECT ${SELECTED_COLUMNS} FROM ${conversation}
    CROSS JOIN LATERAL (
      SELECT t.*, sum(t."tokenCount") OVER (ORDER BY t."position" DESC, t.seq DESC ROWS UNBOUNDED PRECEDING) AS total
      FROM (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = $3::text AND t.root_seq > $4::integer AND t.root_seq < $5::integer
        AND CASE WHEN t.status IN ('COMMITTED', 'ABORTED') AND ${visible()} AND ${newest('t', 'v', '$3::text')}
          AND ($6::text[] IS NULL OR t.actor = ANY ($6::text[]) OR t.role = 'TOOL')
        THEN true ELSE false END
      ORDER BY t.root_seq DESC, t.seq DESC LIMIT $7::integer) t) t
    WHERE t.total - t."tokenCount" <= $8::integer`.text,
}

type RecentTurns = { after: number; before: number; actors: readonly string[] | null; limit: number; tokens: number }

/**
 * Committed and aborted turns with position strictly between `after` and `before`, newest first, at most `limit`. The
 * last turn is the one at which their token count exceeds `tokens`. If `actors` is not null, only turns by these actors
 * and turns with role TOOL.
 */
export const recentTurnsRead = (
  { tenant, actor }: Viewer,
  conversationId: string,
  { after, before, actors, limit, tokens }: RecentTurns,
): Read<TurnRow[]> =>
  readOf(
    { rowMode: 'array', ...RECENT, values: [tenant, actor, conversationId, after, before, actors, limit, tokens] },
    (rows: unknown[][]) => rows.map(turnOf),
  )

/** Runs `recentTurnsRead`. */
export const readRecentTurns = (
  pool: Pool,
  viewer: Viewer,
  conversationId: string,
  recent: RecentTurns,
): Promise<TurnRow[]> => readOne(pool, viewer.tenant, recentTurnsRead(viewer, conversationId, recent))

// Reads the entries after `since`, then the turns that they name. The entries are few, because the turns after `since`
// fit the window.
const CHANGED = {
  name: 'context-changed-turns',
  text: sql`
    SELECT ${SELECTED_COLUMNS} FROM ${conversation}
    CROSS JOIN LATERAL (
      SELECT t.*, sum(t."tokenCount") OVER (ORDER BY t."position" DESC ROWS UNBOUNDED PRECEDING) AS total
      FROM (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = $3::text AND t.root_seq <= $4::integer
        AND t.id IN (SELECT e.turn_id FROM entry e WHERE e.conversation_id = $3::text AND e.seq > $4::integer
                                                     AND e.kind IN ('SUPERSEDED', 'COMMITTED', 'ABORTED'))
        AND t.status IN ('COMMITTED', 'ABORTED') AND ${visible()} AND ${newest('t', 'v', '$3::text')}
        AND ($5::text[] IS NULL OR t.actor = ANY ($5::text[]) OR t.role = 'TOOL')
      ORDER BY t.root_seq DESC LIMIT $6::integer) t) t
    WHERE t.total - t."tokenCount" <= $7::integer`.text,
}

/**
 * Committed and aborted turns with position up to `since` whose newest version was written, committed or aborted after
 * the entry `since`. Newest first, limited like `readRecentTurns`.
 */
export async function readChangedTurns(
  pool: Pool,
  viewer: Viewer,
  conversationId: string,
  { since, actors, limit, tokens }: { since: number; actors: readonly string[] | null; limit: number; tokens: number },
): Promise<TurnRow[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: viewer.tenant,
    rowMode: 'array',
    ...CHANGED,
    values: [viewer.tenant, viewer.actor, conversationId, since, actors, limit, tokens],
  })
  return rows.map(turnOf)
}

const AT = {
  name: 'context-turns-at',
  text: sql`
    SELECT ${SELECTED_COLUMNS} FROM ${conversation}
    CROSS JOIN LATERAL (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = $3::text AND t.root_seq = ANY ($4::integer[])
        AND t.status IN ('COMMITTED', 'ABORTED') AND ${visible()} AND ${newest('t', 'v', '$3::text')}
      ORDER BY t.root_seq DESC) t`.text,
}

/** Committed and aborted turns at the positions, newest first. */
export async function readTurnsAt(
  pool: Pool,
  viewer: Viewer,
  conversationId: string,
  positions: readonly number[],
): Promise<TurnRow[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: viewer.tenant,
    rowMode: 'array',
    ...AT,
    values: [viewer.tenant, viewer.actor, conversationId, positions],
  })
  return rows.map(turnOf)
}

/** Maximum number of SYSTEM turns. The oldest ones are read, because they are included first. */
const MAX_SYSTEM = 1000
/** Maximum numbers of pinned turns, and of turns that are never summarised. The newest ones are read. */
const MAX_PINNED = 1000
const MAX_UNCOVERED = 200

// One branch per kind of turn, so that each uses its partial index: turn_system, turn_pinned or turn_uncovered.
const branch = (condition: string, limit: number, direction: 'ASC' | 'DESC' = 'DESC') => sql`(
  SELECT ${SELECTED_COLUMNS} FROM (
    SELECT t.*, sum(t."tokenCount") OVER (ORDER BY t."position" ${raw(direction)} ROWS UNBOUNDED PRECEDING) AS total
    FROM (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = $3::text AND ${raw(condition)} AND t.root_seq < $6::integer
        AND t.status IN ('COMMITTED', 'ABORTED')
        AND ${visible()} AND ${newest('t', 'v', '$3::text')}
      ORDER BY t.root_seq ${raw(direction)} LIMIT ${raw(String(limit))}) t) t
  WHERE t.total - t."tokenCount" <= $5::integer)`

const UNCOVERED = `(t.audience IS NOT NULL OR t.status <> 'COMMITTED') AND t.root_seq <= $4::integer`

const KEPT = {
  name: 'context-kept-turns',
  text: sql`
    SELECT t.* FROM ${conversation}
    CROSS JOIN LATERAL (
      ${branch(`t.role = 'SYSTEM'`, MAX_SYSTEM, 'ASC')}
      UNION ALL ${branch('t.pinned', MAX_PINNED)}
      UNION ALL ${branch(UNCOVERED, MAX_UNCOVERED)}
    ) t`.text,
}

/**
 * Turns with role SYSTEM, pinned turns, and turns with position up to `covered` that are never summarised; all of them
 * with positions below `before`, and at most MAX_SYSTEM, MAX_PINNED and MAX_UNCOVERED. The last turn of each kind is the
 * one at which their token count exceeds `tokens`. Returns each turn once, in order of position.
 */
export const keptTurnsRead = (
  { tenant, actor }: Viewer,
  conversationId: string,
  { covered, before, tokens }: { covered: number; before: number; tokens: number },
): Read<TurnRow[]> =>
  readOf(
    { rowMode: 'array', ...KEPT, values: [tenant, actor, conversationId, covered, tokens, before] },
    (rows: unknown[][]) => {
      const turns = new Map(rows.map((row) => [row[0], turnOf(row)]))
      return [...turns.values()].sort((a, b) => a.position - b.position)
    },
  )
