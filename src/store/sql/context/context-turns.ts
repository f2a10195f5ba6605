// Reads the turns of a context, each in the newest version that the viewer sees: recent turns, and turns that a context
// includes regardless of their age. Named statements of pg, with positional rows (`npm run bench -- context`).

import type { Pool } from 'pg'
import { TURN_COLUMNS, turnOf, type TurnRow } from '../turn/turn-columns.ts'
import { raw, sql } from '../sql.ts'
import { newest, VIEWER, views, visible } from '../visible.ts'
import type { Viewer } from '../../viewer.ts'

const conversation = sql`(${views(VIEWER, raw('c.id = $3::text'))}) v`

// The CASE makes the planner read the index turn_place from the newest turn, and stop at the limit; see page-turns.ts.
const RECENT = {
  name: 'context-recent-turns',
  text: sql`
    SELECT t.* FROM ${conversation}
    CROSS JOIN LATERAL (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = v.id AND t.root_seq > $4::integer AND t.root_seq < $5::integer
        AND CASE WHEN t.status IN ('COMMITTED', 'ABORTED') AND ${visible()} AND ${newest()}
          AND ($6::text[] IS NULL OR t.actor = ANY ($6::text[]) OR t.role = 'TOOL')
        THEN true ELSE false END
      ORDER BY t.root_seq DESC, t.seq DESC LIMIT $7::integer) t`.text,
}

/**
 * Committed and aborted turns with root seq strictly between `after` and `before`, newest first, at most `limit`. If
 * `actors` are given, only their turns and turns with role TOOL.
 */
export async function readRecentTurns(
  pool: Pool,
  viewer: Viewer,
  conversationId: string,
  { after, before, actors, limit }: { after: number; before: number; actors: readonly string[] | null; limit: number },
): Promise<TurnRow[]> {
  const { rows } = await pool.query<unknown[]>({
    rowMode: 'array',
    ...RECENT,
    values: [viewer.tenant, viewer.actor, conversationId, after, before, actors, limit],
  })
  return rows.map(turnOf)
}

/** Maximum numbers of pinned turns and of turns that are never summarised. The newest ones are read. */
const PINNED = 1000
const UNCOVERED = 200

// One branch per kind of turn, so that each uses its partial index: turn_system, turn_pinned or turn_uncovered.
const branch = (condition: string, limit: number | 'ALL') => sql`(
  SELECT ${TURN_COLUMNS} FROM turn t
  WHERE t.conversation_id = v.id AND ${raw(condition)} AND t.status IN ('COMMITTED', 'ABORTED')
    AND ${visible()} AND ${newest()}
  ORDER BY t.root_seq DESC LIMIT ${raw(String(limit))})`

const KEPT = {
  name: 'context-kept-turns',
  text: sql`
    SELECT t.* FROM ${conversation}
    CROSS JOIN LATERAL (
      ${branch(`t.role = 'SYSTEM'`, 'ALL')}
      UNION ALL ${branch('t.pinned', PINNED)}
      UNION ALL ${branch(`(t.audience IS NOT NULL OR t.status <> 'COMMITTED') AND t.root_seq <= $4::integer`, UNCOVERED)}
    ) t`.text,
}

/**
 * All SYSTEM turns, up to PINNED pinned turns, and up to UNCOVERED turns with root seq up to `covered` that are never
 * summarised. In order of root seq, each turn once.
 */
export async function readKeptTurns(
  pool: Pool,
  viewer: Viewer,
  conversationId: string,
  covered: number,
): Promise<TurnRow[]> {
  const { rows } = await pool.query<unknown[]>({
    rowMode: 'array',
    ...KEPT,
    values: [viewer.tenant, viewer.actor, conversationId, covered],
  })
  const turns = new Map(rows.map((row) => [row[0], turnOf(row)]))
  return [...turns.values()].sort((a, b) => a.rootSeq - b.rootSeq)
}
