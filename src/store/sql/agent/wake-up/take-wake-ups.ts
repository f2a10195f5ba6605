// Assigns wake-ups to a run that is executed: its next call of the provider answers their turns too. All times come from
// the clock of the database.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Tx } from '../../../db/db.ts'

/**
 * Assigns the agent's pending wake-ups by turns that were written since the run began, and those that an earlier run has
 * taken up without answering. Omits turns with other readers than the run's replies, and those that another participant
 * has claimed. Returns the ids of the newest versions of all turns that the run has taken up, by position; none if
 * another process executes the run. Uses the index wake_up_due.
 */
export async function takeWakeUps(
  pool: Pool,
  tenant: string,
  { id, holder }: { id: string; holder: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    scope: tenant,
    name: 'take-wake-ups',
    text: `
      WITH running AS MATERIALIZED (
        SELECT r.id, r.conversation_id, r.actor, r.seq, r.audience, r.reply_to_id FROM run r
        WHERE r.id = $1::text AND r.holder = $2::text AND r.state = 'RUNNING'
      ), taken AS (
        UPDATE wake_up w SET run_id = r.id
        FROM running r, turn t
        WHERE w.conversation_id = r.conversation_id AND w.actor = r.actor
          AND w.answered_at IS NULL AND w.dropped_reason IS NULL
          AND w.run_id IS DISTINCT FROM r.id AND (w.position > r.seq OR w.run_id IS NOT NULL)
          AND t.conversation_id = w.conversation_id AND t.id = w.turn_id
          AND CASE WHEN r.audience IS NULL THEN t.audience IS NULL
                   ELSE t.audience @> r.audience AND t.audience <@ r.audience END
          AND NOT EXISTS (SELECT FROM turn v WHERE v.conversation_id = w.conversation_id AND v.root_seq = w.position
                                               AND v.status = 'STREAMING')
          AND NOT EXISTS (SELECT FROM claim k WHERE k.turn_id = w.turn_id AND k.slot IN ('', w.actor)
                                                AND k.ended_at IS NULL AND (k.answer_id IS NOT NULL OR k.expires_at > now()))
        RETURNING w.conversation_id, w.position
      ), answered AS (
        SELECT conversation_id, position FROM taken
        UNION
        SELECT w.conversation_id, w.position FROM running r
        JOIN wake_up w ON w.conversation_id = r.conversation_id AND w.actor = r.actor AND w.run_id = r.id
          AND w.answered_at IS NULL AND w.dropped_reason IS NULL
      )
      SELECT v.id FROM answered a CROSS JOIN LATERAL (
        SELECT t.id FROM turn t WHERE t.conversation_id = a.conversation_id AND t.root_seq = a.position
        ORDER BY t.seq DESC LIMIT 1) v
      ORDER BY a.position`,
    values: [id, holder],
  })
  return rows.map((row) => row.id)
}

/** Ends the wake-ups that a cancelled run has taken up. The transaction has locked the journal. */
export async function dropTakenWakeUps(
  tx: Tx,
  { id, conversationId, actor }: { id: string; conversationId: string; actor: string },
): Promise<void> {
  await tx.$executeRaw`
    UPDATE wake_up SET dropped_reason = 'RUN_CANCELLED'
    WHERE conversation_id = ${conversationId}::text AND actor = ${actor}::text AND run_id = ${id}::text
      AND answered_at IS NULL AND dropped_reason IS NULL`
}
