// Reads the turns of a context, in the newest versions of the viewer's view: recent turns, and turns that are kept
// regardless of age. Named statements of pg, with positional rows (`npm run bench -- context`).

import type { Pool } from 'pg'
import { TURN_COLUMNS, turnOf, type TurnRow } from '../turn/turn-columns.ts'
import { raw, sql } from '../sql.ts'
import { newest, VIEWER, views, visible } from '../visible.ts'

type Viewer = { tenant: string; actor: string }

const conversation = sql`(${views(VIEWER, raw('c.id = $3::text'))}) v`

// The CASE makes the planner walk the index turn_place from the newest turn back, no further than the limit; see
// page-turns.ts.
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
 * `actors` are given, only their turns and those with role TOOL.
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

/** Maximum numbers of pinned turns and of turns that are never summarised; the newest are read. */
const PINNED = 1000
const UNCOVERED = 200

// One index walk per kind, along the partial indexes turn_system, turn_pinned and turn_uncovered.
const arm = (condition: string, limit: number | 'ALL') => sql`(
  SELECT ${TURN_COLUMNS} FROM turn t
  WHERE t.conversation_id = v.id AND ${raw(condition)} AND t.status IN ('COMMITTED', 'ABORTED')
    AND ${visible()} AND ${newest()}
  ORDER BY t.root_seq DESC LIMIT ${raw(String(limit))})`

const KEPT = {
  name: 'context-kept-turns',
  text: sql`
    SELECT t.* FROM ${conversation}
    CROSS JOIN LATERAL (
      ${arm(`t.role = 'SYSTEM'`, 'ALL')}
      UNION ALL ${arm('t.pinned', PINNED)}
      UNION ALL ${arm(`(t.audience IS NOT NULL OR t.status <> 'COMMITTED') AND t.root_seq <= $4::integer`, UNCOVERED)}
    ) t`.text,
}

/**
 * All SYSTEM turns, the newest pinned turns, and the newest turns with root seq up to `covered` that are never
 * summarised. In order of root seq.
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
