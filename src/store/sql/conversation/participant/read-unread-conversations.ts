// Lists the conversations with turns that an actor has not read. A named statement of pg: each inbox that opens runs
// it.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Viewer } from '../../../db/scope.ts'
import { sql } from '../../kernel/sql.ts'
import { unreadTurns } from '../../turn/unread.ts'

/** A conversation with unread turns; `at` is the time of its newest entry. */
export type UnreadConversation = { conversationId: string; at: Date }

// OFFSET 0 keeps the planner from looking for unread turns before it has sorted the conversations, so that it looks
// only until the page is full.
const READ_UNREAD = sql`
  SELECT p.conversation_id AS "conversationId", p.updated_at AS at
  FROM (
    SELECT p.conversation_id, p.actor, p.windows, p.last_read_seq, j.updated_at
    FROM participant p JOIN journal j ON j.conversation_id = p.conversation_id AND j.tenant = $1::text
    WHERE p.actor = $2::text AND p.left_at IS NULL AND j.last_seq > p.last_read_seq
      AND ($3::timestamptz IS NULL OR (j.updated_at, j.conversation_id) < ($3::timestamptz, $4::text))
    ORDER BY j.updated_at DESC, j.conversation_id DESC OFFSET 0) p
  WHERE EXISTS (SELECT FROM ${unreadTurns()} t)
  LIMIT $5::integer`.text

/**
 * The conversations of which the actor is a present participant and that have turns that COUNT_UNREAD counts, most
 * recent entry first, after the position `after`. Uses the index participant_actor.
 */
export async function readUnreadConversations(
  pool: Pool,
  { tenant, actor }: Viewer,
  after: UnreadConversation | null,
  limit: number,
): Promise<UnreadConversation[]> {
  const { rows } = await pool.query<UnreadConversation>({
    scope: tenant,
    name: 'read-unread-conversations',
    text: READ_UNREAD,
    values: [tenant, actor, after?.at ?? null, after?.conversationId ?? null, limit],
  })
  return rows
}
