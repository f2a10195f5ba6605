// Reads the times that determine a moment in the past (scope.ts): the present time of the database, and the time of an
// entry.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Viewer } from '../../../db/scope.ts'
import { sql } from '../../kernel/sql.ts'
import { journalVisible, VIEWER } from '../../kernel/visible.ts'

const ENTRY = sql`
  SELECT j.last_seq AS "lastSeq", coalesce(e.at, c.created_at) AS at
  FROM journal j JOIN conversation c ON c.id = j.conversation_id
  LEFT JOIN entry e ON e.conversation_id = j.conversation_id AND e.seq = $4::integer
  WHERE j.conversation_id = $3::text AND ${journalVisible(VIEWER)}`.text

/** `at`: the time of the entry; the time at which the conversation was created if there is no such entry. */
export type EntryTime = { lastSeq: number; at: Date }

/** Returns null if the viewer sees no such conversation. Uses the primary keys. */
export async function readEntryTime(
  pool: Pool,
  { tenant, actor }: Viewer,
  conversationId: string,
  seq: number,
): Promise<EntryTime | null> {
  const { rows } = await pool.query<EntryTime>({
    scope: tenant,
    name: 'read-entry-time',
    text: ENTRY,
    values: [tenant, actor, conversationId, seq],
  })
  return rows[0] ?? null
}

/** Returns the present time by the clock of the database. */
export async function readTime(pool: Pool, tenant: string): Promise<Date> {
  const { rows } = await pool.query<{ at: Date }>({
    scope: tenant,
    name: 'read-time',
    text: 'SELECT clock_timestamp()::timestamptz(3) AS at',
    values: [],
  })
  return rows[0]!.at
}
