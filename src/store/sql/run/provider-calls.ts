// Writes the calls of a run, with the tokens that they take, and reads them.

import type { Pool } from '../../tenant-pool.ts'
import { sql } from '../sql.ts'

export type ProviderCallRow = {
  runId: string
  round: number
  provider: string
  model: string
  turnId: string
  resultsId: string | null
  attempts: number
  promptTokens: number | null
  completionTokens: number | null
  isEstimated: boolean
  finishReason: string | null
  errorCode: string | null
  startedAt: Date
  endedAt: Date | null
}

type RunKey = { tenant: string; runId: string; holder: string }

/**
 * Records the beginning of the next call, which writes its reply to that turn. Returns its number; null if the process
 * no longer holds the run.
 */
export async function beginCall(pool: Pool, { tenant, runId, holder }: RunKey, turnId: string): Promise<number | null> {
  const { rows } = await pool.query<{ round: number }>({
    scope: tenant,
    name: 'begin-provider-call',
    text: `WITH changed AS (
             UPDATE run SET round = round + 1, turn_id = $3, version = version + 1
             WHERE id = $1 AND holder = $2 AND state = 'RUNNING' RETURNING id, round, provider, model)
           INSERT INTO provider_call (run_id, round, provider, model, turn_id)
           SELECT id, round, provider, model, $3 FROM changed RETURNING round`,
    values: [runId, holder, turnId],
  })
  return rows[0]?.round ?? null
}

export type EndedCall = {
  round: number
  attempts: number
  promptTokens: number
  completionTokens: number
  isEstimated: boolean
  finishReason: string | null
  errorCode: string | null
}

/**
 * Records the end of a call, once, and adds its tokens to the sums of the run, of the participant and of the tenant for
 * the day (UTC).
 */
export async function endCall(pool: Pool, { tenant, runId }: Omit<RunKey, 'holder'>, call: EndedCall): Promise<void> {
  await pool.query({
    scope: tenant,
    name: 'end-provider-call',
    text: `WITH ended AS (
             UPDATE provider_call
             SET attempts = $3, prompt_tokens = $4, completion_tokens = $5, is_estimated = $6, finish_reason = $7,
                 error_code = $8, ended_at = now()
             WHERE run_id = $1 AND round = $2 AND ended_at IS NULL RETURNING run_id),
           used AS (
             UPDATE run r SET prompt_tokens = prompt_tokens + $4, completion_tokens = completion_tokens + $5,
                              version = version + 1
             FROM ended e WHERE r.id = e.run_id RETURNING r.tenant, r.conversation_id, r.actor),
           of_participant AS (
             INSERT INTO token_usage AS u (conversation_id, actor, day, prompt_tokens, completion_tokens)
             SELECT conversation_id, actor, (now() AT TIME ZONE 'UTC')::date, $4, $5 FROM used
             ON CONFLICT (conversation_id, actor, day) DO UPDATE
             SET prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
                 completion_tokens = u.completion_tokens + excluded.completion_tokens)
           INSERT INTO tenant_usage AS u (tenant, day, prompt_tokens, completion_tokens)
           SELECT tenant, (now() AT TIME ZONE 'UTC')::date, $4, $5 FROM used
           ON CONFLICT (tenant, day) DO UPDATE
           SET prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
               completion_tokens = u.completion_tokens + excluded.completion_tokens`,
    values: [
      runId,
      call.round,
      call.attempts,
      call.promptTokens,
      call.completionTokens,
      call.isEstimated,
      call.finishReason,
      call.errorCode,
    ],
  })
}

/** Records the turn with the results of the tools that the server executed after a call. */
export async function recordResults(
  pool: Pool,
  { tenant, runId }: Omit<RunKey, 'holder'>,
  { round, resultsId, isCorrection }: { round: number; resultsId: string; isCorrection: boolean },
): Promise<void> {
  await pool.query({
    scope: tenant,
    name: 'record-tool-results',
    text: `WITH called AS (
             UPDATE provider_call SET results_id = $3 WHERE run_id = $1 AND round = $2 RETURNING run_id)
           UPDATE run r SET version = version + 1, corrected = r.corrected OR $4 FROM called WHERE r.id = called.run_id`,
    values: [runId, round, resultsId, isCorrection],
  })
}

const READ_CALLS = sql`
  SELECT c.run_id AS "runId", c.round, c.provider, c.model, c.turn_id AS "turnId", c.results_id AS "resultsId", c.attempts,
         c.prompt_tokens AS "promptTokens", c.completion_tokens AS "completionTokens", c.is_estimated AS "isEstimated",
         c.finish_reason AS "finishReason", c.error_code AS "errorCode", c.started_at AS "startedAt",
         c.ended_at AS "endedAt"
  FROM provider_call c WHERE c.run_id = ANY ($1::text[]) ORDER BY c.run_id, c.round`.text

/** The calls of the runs, by run in the order of the calls. The caller checks that the viewer sees the runs. */
export async function readCalls(pool: Pool, tenant: string, runIds: readonly string[]): Promise<ProviderCallRow[]> {
  const { rows } = await pool.query<ProviderCallRow>({
    scope: tenant,
    name: 'read-provider-calls',
    text: READ_CALLS,
    values: [runIds],
  })
  return rows
}

/** Ids of the tool calls that the turn makes and no turn of the conversation answers, in ascending order. */
export async function readOpenCalls(pool: Pool, tenant: string, turnId: string): Promise<string[]> {
  const { rows } = await pool.query<{ callId: string }>({
    scope: tenant,
    name: 'read-open-tool-calls',
    text: `SELECT c.call_id AS "callId" FROM tool_call c JOIN turn t ON t.id = c.turn_id
           WHERE c.turn_id = $1 AND NOT EXISTS (
             SELECT FROM tool_result r WHERE r.conversation_id = c.conversation_id AND r.call_id = c.call_id
                                         AND r.call_position = t.root_seq)
           ORDER BY 1`,
    values: [turnId],
  })
  return rows.map(({ callId }) => callId)
}
