// Reads the streaming turns that were open at a journal entry and were committed or aborted later: they changed after the
// entry although their seq is lower. A named statement of pg: each read of turns since an entry runs it.

import type { Pool } from 'pg'
import { raw, sql } from '../sql.ts'
import { VIEWER, views, visible } from '../visible.ts'
import type { Viewer } from '../../viewer.ts'

const STATEMENT = sql`
  SELECT t.id
  FROM (${views(VIEWER, raw('c.id = ANY ($3::text[])'))}) v
  JOIN entry e ON e.conversation_id = v.id AND e.seq > $4::integer AND e.kind IN ('COMMITTED', 'ABORTED')
  JOIN turn t ON t.id = e.turn_id AND t.seq <= $4::integer
  WHERE ${visible()}`.text

/**
 * Ids of the visible turns opened at or before the entry `seq` and closed after it, unordered. Reads the later entries of
 * each conversation. The limit of open turns (APPEND_LIMITS in domain/turn/append.ts) bounds the result.
 */
export async function readTurnsClosedAfter(
  pool: Pool,
  viewer: Viewer,
  conversationIds: readonly string[],
  seq: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'read-turns-closed-after',
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, conversationIds, seq],
  })
  return rows.map(({ id }) => id)
}
