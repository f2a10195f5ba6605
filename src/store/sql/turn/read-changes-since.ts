// Finds the turns at or before a journal entry that changed after it: turns that were edited, and streaming turns that
// were open at the entry and are closed now. A named statement of pg, because every read of turns since an entry runs
// it.

import type { Pool } from '../../db/tenant-pool.ts'
import { raw, sql } from '../kernel/sql.ts'
import { VIEWER, views, visible } from '../kernel/visible.ts'
import type { Viewer } from '../../db/scope.ts'

const STATEMENT = sql`
  SELECT min(t.root_seq) AS "firstPosition",
         coalesce(array_agg(t.id) FILTER (WHERE t.seq <= $4::integer), '{}') AS "closedIds"
  FROM (${views(VIEWER, raw('c.id = ANY ($3::text[])'))}) v
  JOIN entry e ON e.conversation_id = v.id AND e.seq > $4::integer AND e.kind IN ('SUPERSEDED', 'COMMITTED', 'ABORTED')
  JOIN turn t ON t.id = e.turn_id AND t.conversation_id = e.conversation_id AND t.root_seq <= $4::integer
  WHERE ${visible()}`.text

/**
 * `firstPosition`: the lowest position of a changed turn, null for none. `closedIds`: ids of the turns that were open
 * at the entry and have been closed.
 */
type ChangesSince = { firstPosition: number | null; closedIds: string[] }

/**
 * The visible changes, after the entry `seq`, of turns with position up to `seq`. Reads the later entries of the
 * conversations; APPEND_LIMITS (domain/turn/append/append.ts) limits the number of open turns, and hence of `closedIds`.
 */
export async function readChangesSince(
  pool: Pool,
  viewer: Viewer,
  conversationIds: readonly string[],
  seq: number,
): Promise<ChangesSince> {
  const { rows } = await pool.query<ChangesSince>({
    scope: viewer.tenant,
    name: 'read-changes-since',
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, conversationIds, seq],
  })
  return rows[0]!
}
