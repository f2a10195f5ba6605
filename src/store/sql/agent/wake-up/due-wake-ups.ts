// Finds the wake-ups that the server must answer: those of participants with agent settings. Used by jobs. All times
// come from the clock of the database.

import { SYSTEM } from '../../../db/scope.ts'
import type { Subject } from '../../../jobs/job-queue.ts'
import type { Db } from '../../../db/db.ts'
import type { RunState } from '../../../generated/enums.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'

/** Delay after the first failed run, ms; doubles with each further failed run. At most the delay in job-queue.ts. */
export const RETRY_MS = 2_000

/**
 * Pending wake-ups `w` with the run `r` of their last attempt, if it has started. A wake-up is due unless its run has
 * not ended or has just failed, its attempt has just begun, the agent answers another turn of the conversation, a claim
 * excludes the agent, or a newer version of its turn is being written. One that a run has taken up is due only if neither that run nor an earlier wake-up is left,
 * because the next run takes it up with the earlier one. An interrupted run is repeated at once. Uses the indexes wake_up_due, run_client_id and
 * run_running, and the primary key of claim.
 */
const due = (retryMs: number): Sql => sql`
  FROM wake_up w
  JOIN participant p ON p.conversation_id = w.conversation_id AND p.actor = w.actor AND p.left_at IS NULL
                    AND p.agent IS NOT NULL
  LEFT JOIN run r ON r.conversation_id = w.conversation_id AND r.viewer = w.actor
                 AND r.client_id = 'wake-up:' || w.turn_id || ':' || w.attempts AND r.seq IS NOT NULL
  WHERE w.answered_at IS NULL AND w.dropped_reason IS NULL
    AND CASE WHEN r.id IS NULL THEN coalesce(w.retry_at <= now(), true)
             WHEN r.state = 'FAILED' AND r.error_code <> 'INTERRUPTED' THEN
               r.ended_at + make_interval(secs => ${raw(String(retryMs / 1000))} * power(2, w.attempts - 1)) <= now()
             ELSE r.ended_at IS NOT NULL END
    AND NOT EXISTS (SELECT FROM run x WHERE x.conversation_id = w.conversation_id AND x.actor = w.actor
                                        AND x.state = 'RUNNING')
    AND (w.run_id IS NULL OR NOT EXISTS (
      SELECT FROM wake_up e WHERE e.conversation_id = w.conversation_id AND e.actor = w.actor AND e.position < w.position
                              AND e.answered_at IS NULL AND e.dropped_reason IS NULL))
    AND NOT EXISTS (SELECT FROM run x WHERE x.id = w.run_id AND x.ended_at IS NULL)
    AND NOT EXISTS (SELECT FROM turn v WHERE v.conversation_id = w.conversation_id AND v.root_seq = w.position
                                         AND v.status = 'STREAMING')
    AND NOT EXISTS (SELECT FROM claim k WHERE k.turn_id = w.turn_id AND k.slot IN ('', w.actor) AND k.ended_at IS NULL
                                          AND (k.answer_id IS NOT NULL OR k.expires_at > now()))`

/** The subject of a job: the conversation and the agent. */
const KEY = raw(`w.conversation_id || ' ' || w.actor`)

/** Returns the conversation and the agent of a job's key. */
export function partsOfKey(key: string): { conversationId: string; actor: string } {
  const at = key.indexOf(' ')
  return { conversationId: key.slice(0, at), actor: key.slice(at + 1) }
}

/** The agents with due wake-ups in the conversations. */
export const readDueAgentsAmong = (db: Db, conversationIds: readonly string[]): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT DISTINCT w.tenant, ${KEY} AS key ${due(RETRY_MS)} AND w.conversation_id = ANY (${conversationIds}::text[])`

/** The agents with due wake-ups after the key, in order, at most `limit`. */
export const readDueAgents = (db: Db, after: string, limit: number): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT DISTINCT w.tenant, ${KEY} AS key ${due(RETRY_MS)} AND ${KEY} > ${after}::text
    ORDER BY key LIMIT ${limit}::integer`

/** A due wake-up. `newestId`: id of the turn's newest version. `run`: ended run of the last attempt; null for none. */
export type DueWakeUp = {
  turnId: string
  newestId: string
  attempts: number
  run: { id: string; state: RunState; errorCode: string | null } | null
}

/** The agent's due wake-up with the lowest position; null for none. */
export async function readDueWakeUp(
  db: Db,
  tenant: string,
  { conversationId, actor }: { conversationId: string; actor: string },
  retryMs: number,
): Promise<DueWakeUp | null> {
  const rows = await db.of(tenant).$queryRaw<
    (Omit<DueWakeUp, 'run'> & { runId: string | null; state: RunState; errorCode: string | null })[]
  >`
    SELECT w.turn_id AS "turnId", w.attempts, r.id AS "runId", r.state, r.error_code AS "errorCode",
           coalesce((SELECT x.id FROM turn x WHERE x.conversation_id = w.conversation_id AND x.root_seq = w.position
                     ORDER BY x.seq DESC LIMIT 1), w.turn_id) AS "newestId"
    ${due(retryMs)} AND w.conversation_id = ${conversationId}::text AND w.actor = ${actor}::text
    ORDER BY w.position LIMIT 1`
  const [row] = rows
  if (!row) return null
  const { runId, state, errorCode, ...wakeUp } = row
  return { ...wakeUp, run: runId === null ? null : { id: runId, state, errorCode } }
}
