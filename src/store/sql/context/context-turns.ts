// The turns that a context is made of, newest versions in the viewer's view: those before a place, back to where the
// reader stops, and those that stand however old they are.

import type { Pool } from 'pg'
import { TURN_COLUMNS, turnOf, type TurnRow } from '../turn/turn-columns.ts'
import { newest, views, visible } from '../visible.ts'

type Viewer = { tenant: string; actor: string }

const conversationId = `(${views('$1', '$2', 'c.id = $3::text')}) v`

// The CASE is for the planner, as in page-turns.ts: the index turn_place is walked from the newest turn back, and no
// further than the limit.
const RECENT = {
  name: 'context-recent-turns',
  text: `
    SELECT t.* FROM ${conversationId}
    CROSS JOIN LATERAL (
      SELECT ${TURN_COLUMNS} FROM turn t
      WHERE t.conversation_id = v.id AND t.root_seq > $4::integer AND t.root_seq < $5::integer
        AND CASE WHEN t.status IN ('COMMITTED', 'ABORTED') AND ${visible()} AND ${newest()}
          AND ($6::text[] IS NULL OR t.actor = ANY ($6::text[]) OR t.role = 'TOOL')
        THEN true ELSE false END
      ORDER BY t.root_seq DESC, t.seq DESC LIMIT $7::integer) t`,
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
const arm = (condition: string, limit: number | 'ALL') => `(
  SELECT ${TURN_COLUMNS} FROM turn t
  WHERE t.conversation_id = v.id AND ${condition} AND t.status IN ('COMMITTED', 'ABORTED')
    AND ${visible()} AND ${newest()}
  ORDER BY t.root_seq DESC LIMIT ${limit})`

const KEPT = {
  name: 'context-kept-turns',
  text: `
    SELECT t.* FROM ${conversationId}
    CROSS JOIN LATERAL (
      ${arm(`t.role = 'SYSTEM'`, 'ALL')}
      UNION ALL ${arm('t.pinned', PINNED)}
      UNION ALL ${arm(`(t.audience IS NOT NULL OR t.status <> 'COMMITTED') AND t.root_seq <= $4::integer`, UNCOVERED)}
    ) t`,
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
