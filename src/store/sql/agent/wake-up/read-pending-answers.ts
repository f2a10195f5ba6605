// Reads the answers that a conversation waits for: the wake-ups that have not ended, and the runs of the server that have
// not ended.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Viewer } from '../../../db/scope.ts'
import { parameter, raw, sql } from '../../kernel/sql.ts'
import { among, VIEWER, views, visible } from '../../kernel/visible.ts'
import { runVisible } from '../run/run-columns.ts'

/**
 * An answer that is expected of `actor`. `turnId`: a version of the turn to answer; null for a run that answers none.
 * `runId`: the run that answers; null if none has started, and for a participant that the server does not run.
 */
export type PendingAnswerRow = { conversationId: string; actor: string; turnId: string | null; runId: string | null }

/** Whether run `r` answers wake-up `w`: it replies to a version of its turn, or has taken it up. */
const ANSWERS = raw(`(
  r.conversation_id = w.conversation_id AND r.actor = w.actor AND (r.position = w.position OR r.id = w.run_id))`)

const READ = sql`
  WITH v AS MATERIALIZED (${views(VIEWER, among(parameter(3), 'many'))}),
  waiting AS MATERIALIZED (
    SELECT w.conversation_id, w.actor, w.turn_id, w.position, w.run_id, w.created_at
    FROM v JOIN wake_up w ON w.conversation_id = v.id AND w.answered_at IS NULL AND w.dropped_reason IS NULL
    JOIN participant x ON x.conversation_id = w.conversation_id AND x.actor = w.actor AND x.left_at IS NULL
    JOIN turn t ON t.id = w.turn_id AND t.conversation_id = w.conversation_id
    WHERE t.status = 'COMMITTED' AND ${visible('t')}),
  active AS MATERIALIZED (
    SELECT r.conversation_id, r.id, r.actor, r.reply_to_id, q.root_seq AS position, r.created_at
    FROM v JOIN run r ON r.conversation_id = v.id AND r.ended_at IS NULL
    LEFT JOIN turn q ON q.id = r.reply_to_id AND q.conversation_id = r.conversation_id
    WHERE ${runVisible}),
  answer AS (
    SELECT w.conversation_id, w.actor, w.turn_id, r.id AS run_id, w.created_at
    FROM waiting w LEFT JOIN active r ON ${ANSWERS}
    UNION ALL
    SELECT r.conversation_id, r.actor, r.reply_to_id, r.id, r.created_at
    FROM active r WHERE NOT EXISTS (SELECT FROM waiting w WHERE ${ANSWERS}))
  SELECT a.conversation_id AS "conversationId", a.actor, a.turn_id AS "turnId", a.run_id AS "runId"
  FROM (SELECT *, row_number() OVER (PARTITION BY conversation_id ORDER BY created_at DESC, actor DESC) AS nth FROM answer) a
  WHERE a.nth <= $4::integer ORDER BY a.conversation_id, a.nth DESC`.text

/** The newest pending answers of each conversation in the viewer's view, oldest first. Uses the indexes wake_up_due and run_active. */
export async function readPendingAnswers(
  pool: Pool,
  { tenant, actor }: Viewer,
  conversationIds: readonly string[],
  limit: number,
): Promise<PendingAnswerRow[]> {
  const { rows } = await pool.query<PendingAnswerRow>({
    scope: tenant,
    name: 'read-pending-answers',
    text: READ,
    values: [tenant, actor, conversationIds, limit],
  })
  return rows
}
