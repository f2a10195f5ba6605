// Writes the calls of a run, with the tokens that they take, and reads them.

import type { Db } from '../../../db/db.ts'
import { SYSTEM } from '../../../db/scope.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import { sql } from '../../kernel/sql.ts'

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
 * Records the beginning of the next call, which writes its reply to the turn `turnId`. `promptTokens` is the server's
 * token count of the prompt. Returns the number of the call; null if the process no longer has the lease of the run.
 */
export async function beginCall(
  pool: Pool,
  { tenant, runId, holder }: RunKey,
  { turnId, promptTokens }: { turnId: string; promptTokens: number },
): Promise<number | null> {
  const { rows } = await pool.query<{ round: number }>({
    scope: tenant,
    name: 'begin-provider-call',
    text: `WITH changed AS (
             UPDATE run SET round = round + 1, turn_id = $3, version = version + 1
             WHERE id = $1 AND holder = $2 AND state = 'RUNNING' RETURNING id, round, provider, model)
           INSERT INTO provider_call (run_id, round, provider, model, turn_id, prompt_tokens)
           SELECT id, round, provider, model, $3, $4 FROM changed RETURNING round`,
    values: [runId, holder, turnId, promptTokens],
  })
  return rows[0]?.round ?? null
}

/**
 * Adds the tokens of the calls that the CTE `ended` returns to the sums of the run, of the participant and of the tenant
 * for the day (UTC), and releases the tokens that the run has reserved for the call.
 */
const ADD_TOKENS = `
  used AS (
    UPDATE run r SET prompt_tokens = r.prompt_tokens + e.prompt, completion_tokens = r.completion_tokens + e.completion,
                     reserved_tokens = NULL, version = version + 1
    FROM (SELECT run_id, sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion FROM ended GROUP BY 1) e
    WHERE r.id = e.run_id RETURNING r.id, r.tenant, r.conversation_id, r.actor, e.prompt, e.completion),
  of_participant AS (
    INSERT INTO token_usage AS u (conversation_id, actor, day, prompt_tokens, completion_tokens)
    SELECT conversation_id, actor, (now() AT TIME ZONE 'UTC')::date, prompt, completion FROM used
    ON CONFLICT (conversation_id, actor, day) DO UPDATE
    SET prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = u.completion_tokens + excluded.completion_tokens),
  of_tenant AS (
    INSERT INTO tenant_usage AS u (tenant, day, prompt_tokens, completion_tokens)
    SELECT tenant, (now() AT TIME ZONE 'UTC')::date, prompt, completion FROM used
    ON CONFLICT (tenant, day) DO UPDATE
    SET prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = u.completion_tokens + excluded.completion_tokens)
  SELECT id FROM used`

export type EndedCall = {
  round: number
  attempts: number
  promptTokens: number
  completionTokens: number
  isEstimated: boolean
  finishReason: string | null
}

/** Records the end of a call that has succeeded, once, and adds its tokens to all sums. */
export async function endCall(pool: Pool, { tenant, runId }: Omit<RunKey, 'holder'>, call: EndedCall): Promise<void> {
  await pool.query({
    scope: tenant,
    name: 'end-provider-call',
    text: `WITH ended AS (
             UPDATE provider_call
             SET attempts = $3, prompt_tokens = $4, completion_tokens = $5, is_estimated = $6, finish_reason = $7,
                 ended_at = now()
             WHERE run_id = $1 AND round = $2 AND ended_at IS NULL RETURNING run_id, prompt_tokens, completion_tokens),
           ${ADD_TOKENS}`,
    values: [
      runId,
      call.round,
      call.attempts,
      call.promptTokens,
      call.completionTokens,
      call.isEstimated,
      call.finishReason,
    ],
  })
}

/**
 * `round`: number of the call; null for all calls of the run that have not ended. `attempts`: null to keep the recorded
 * number. `hasPrompt`: whether the provider may have read the prompt although no text has arrived.
 */
export type FailedCall = { round: number | null; attempts: number | null; hasPrompt: boolean; errorCode: string }

/**
 * Records the end of calls that have failed, or whose process has died, once, and adds their tokens to all sums: those
 * that the turn of the reply records, else the server's counts of the prompt and of the stored text. The caller has
 * closed the turn. Returns whether it recorded the end of at least one provider call.
 */
export async function endFailedCalls(
  pool: Pool,
  { tenant, runId }: Omit<RunKey, 'holder'>,
  { round, attempts, hasPrompt, errorCode }: FailedCall,
): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>({
    scope: tenant,
    name: 'end-failed-calls',
    text: `WITH ended AS (
             UPDATE provider_call c
             SET attempts = coalesce($3, c.attempts),
                 prompt_tokens = coalesce(
                   t.prompt_tokens, CASE WHEN $4 OR coalesce(t.text, '') <> '' THEN c.prompt_tokens END, 0),
                 completion_tokens = coalesce(t.completion_tokens, t.token_count, 0),
                 is_estimated = t.prompt_tokens IS NULL,
                 error_code = CASE t.status WHEN 'COMMITTED' THEN NULL ELSE $5 END, ended_at = now()
             FROM provider_call o JOIN run r ON r.id = o.run_id
             LEFT JOIN turn t ON t.id = o.turn_id AND t.conversation_id = r.conversation_id
             WHERE c.run_id = $1 AND ($2::integer IS NULL OR c.round = $2) AND c.ended_at IS NULL
               AND o.run_id = c.run_id AND o.round = c.round
             RETURNING c.run_id, c.prompt_tokens, c.completion_tokens),
           ${ADD_TOKENS}`,
    values: [runId, round, attempts, hasPrompt, errorCode],
  })
  return rows.length > 0
}

/**
 * Runs of all tenants that ended more than `ms` ago with a call that has not ended, because its process has died. Omits
 * calls whose reply is still open. Uses the index provider_call_open.
 */
export const readAbandonedCalls = (db: Db, ms: number, limit: number): Promise<{ tenant: string; runId: string }[]> =>
  db.of(SYSTEM).$queryRaw<{ tenant: string; runId: string }[]>`
    SELECT DISTINCT r.tenant, r.id AS "runId"
    FROM provider_call c JOIN run r ON r.id = c.run_id 
    LEFT JOIN turn t ON t.id = c.turn_id AND t.conversation_id = r.conversation_id
    WHERE c.ended_at IS NULL AND r.ended_at < now() - make_interval(secs => ${ms / 1000}::double precision)
      AND (t.status IS NULL OR t.status <> 'STREAMING')
    LIMIT ${limit}::integer`

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

/**
 * Ids of the tool calls that the reply makes and no turn of the conversation answers, in ascending order. A call with an
 * approval is answered only by a result that was written after the decision. Results from before the reply answered
 * calls of an older version.
 */
export async function readOpenCalls(pool: Pool, tenant: string, turnId: string): Promise<string[]> {
  const { rows } = await pool.query<{ callId: string }>({
    scope: tenant,
    name: 'read-open-tool-calls',
    text: `SELECT c.call_id AS "callId" FROM turn t JOIN tool_call c ON c.conversation_id = t.conversation_id AND c.turn_id = t.id
           LEFT JOIN approval a ON a.turn_id = t.id AND a.call_id = c.call_id
           WHERE t.id = $1 AND NOT EXISTS (
             SELECT FROM tool_result r JOIN turn y ON y.id = r.turn_id AND y.conversation_id = r.conversation_id
             WHERE r.conversation_id = c.conversation_id AND r.call_id = c.call_id AND r.call_position = t.root_seq
               AND y.seq >= t.seq AND (a.id IS NULL OR r.approval_id = a.id))
           ORDER BY 1`,
    values: [turnId],
  })
  return rows.map(({ callId }) => callId)
}
