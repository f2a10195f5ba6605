// The turns that a context is made of, newest versions in the viewer's view: recent ones before a place, and those that
// are kept whatever their age. Named statements of pg, which read positional rows (`npm run bench -- context`).

import type { Pool } from 'pg'
import { TURN_COLUMNS, turnOf, type TurnRow } from '../turn/turn-columns.ts'
import { raw, sql } from '../sql.ts'
import { newest, VIEWER, views, visible } from '../visible.ts'

type Viewer = { tenant: string; actor: string }

const conversation = sql`(${views(VIEWER, raw('c.id = $3::text'))}) v`

// The CASE is for the planner, as in page-turns.ts: the index turn_place is walked from the newest turn back, and no
// further than the limit.
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

/** Finished turns at places strictly between `after` and `before`, newest first; of `actors` and of tools, if given. */
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

/** Turns that are read besides instructions, newest first: pinned ones, and those that no summary covers. */
const PINNED = 1000
const UNCOVERED = 200

// One walk for each reason, along its partial index: turn_system, turn_pinned, turn_uncovered.
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
 * All instructions, the newest pinned turns, and of the turns up to the place `covered` the newest that no summary
 * covers. In order of place.
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
