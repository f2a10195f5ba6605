// Writes runs. All times come from the clock of the database, because the clocks of processes may differ.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Tx } from '../../../db/db.ts'
import type { RunState } from '../../../generated/enums.ts'
import { named } from '../../kernel/sql.ts'

export type NewRun = {
  id: string
  conversationId: string
  actor: string
  viewer: string
  provider: string
  model: string
  /** The version that the first reply supersedes; null for none. */
  supersedesId: string | null
  options: object
  /** Null if no credential starts the run. */
  credential: object | null
  clientId: string | null
  clientHash: string | null
  holder: string
  leaseMs: number
}

/**
 * Inserts a run that is not visible until `recordStart`. Returns false, and writes nothing, if the agent has a RUNNING
 * run in the conversation, or the viewer has used the clientId.
 */
export async function insertRun(pool: Pool, tenant: string, run: NewRun): Promise<boolean> {
  const { rowCount } = await pool.query({
    scope: tenant,
    name: 'insert-run',
    text: `INSERT INTO run (id, conversation_id, actor, viewer, provider, model, supersedes_id, options, credential, client_id, client_hash, holder,
                            lease_until)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb, $10, $11, $12,
                   now() + make_interval(secs => $13::double precision / 1000))
           ON CONFLICT DO NOTHING`,
    values: [
      run.id,
      run.conversationId,
      run.actor,
      run.viewer,
      run.provider,
      run.model,
      run.supersedesId,
      JSON.stringify(run.options),
      run.credential && JSON.stringify(run.credential),
      run.clientId,
      run.clientHash,
      run.holder,
      run.leaseMs,
    ],
  })
  return rowCount === 1
}

/** The id of the viewer's run with the clientId, and the id of the agent's RUNNING run; each null if there is none. */
export async function findRivals(
  pool: Pool,
  tenant: string,
  { conversationId, viewer, actor, clientId }: Pick<NewRun, 'conversationId' | 'viewer' | 'actor' | 'clientId'>,
): Promise<{ repeatedId: string | null; runningId: string | null }> {
  const { rows } = await pool.query<{ repeatedId: string | null; runningId: string | null }>({
    scope: tenant,
    name: 'find-rival-runs',
    text: `SELECT (SELECT r.id FROM run r WHERE r.conversation_id = $1 AND r.viewer = $2 AND r.client_id = $4) AS "repeatedId",
                  (SELECT r.id FROM run r WHERE r.conversation_id = $1 AND r.actor = $3 AND r.state = 'RUNNING') AS "runningId"`,
    values: [conversationId, viewer, actor, clientId],
  })
  return rows[0]!
}

/** Deletes a run for which `recordStart` was not called, so that it was never visible. */
export async function deleteUnseenRun(pool: Pool, tenant: string, id: string): Promise<void> {
  await pool.query({
    scope: tenant,
    name: 'delete-unseen-run',
    text: 'DELETE FROM run WHERE id = $1 AND seq IS NULL',
    values: [id],
  })
}

/** Renews the lease of the run. Returns false if another process has it, or if the run is not RUNNING. */
export async function renewRun(
  pool: Pool,
  tenant: string,
  { id, holder, leaseMs }: Pick<NewRun, 'id' | 'holder' | 'leaseMs'>,
): Promise<boolean> {
  const { rowCount } = await pool.query({
    scope: tenant,
    name: 'renew-run',
    text: `UPDATE run SET lease_until = now() + make_interval(secs => $3::double precision / 1000)
           WHERE id = $1 AND holder = $2 AND state = 'RUNNING'`,
    values: [id, holder, leaseMs],
  })
  return rowCount === 1
}

/** Whether the run is RUNNING and the process has it. The transaction has locked the journal, so neither changes before its end. */
export async function isHeld(tx: Tx, id: string, holder: string): Promise<boolean> {
  const rows = await tx.$queryRaw<object[]>`
    ${named('is-run-held')}
    SELECT FROM run r WHERE r.id = ${id}::text AND r.holder = ${holder}::text AND r.state = 'RUNNING'`
  return rows.length > 0
}

/** What is known when a run starts. `leaseMs` is the duration of its lease from now on. */
export type RunStart = { seq: number; audience: readonly string[] | null; replyToId: string | null; leaseMs: number }

/** Records the run's entry, its audience, the turn that it answers and its lease. The transaction has locked the journal. */
export async function recordStart(tx: Tx, id: string, { seq, audience, replyToId, leaseMs }: RunStart): Promise<void> {
  await tx.$executeRaw`
    ${named('record-run-start')}
    UPDATE run SET seq = ${seq}::integer, audience = ${audience}::text[], reply_to_id = ${replyToId}::text,
           lease_until = now() + make_interval(secs => ${leaseMs}::double precision / 1000)
    WHERE id = ${id}::text`
}

export type RunChange = {
  state: RunState
  /** The process that executes it from now on; null for none. */
  holder: string | null
  /** Time until the lease or the wait ends, in ms; null for no limit. */
  leaseMs: number | null
  hasEnded: boolean
  error: { code: string; message: string } | null
}

/**
 * Changes the state of a run that the transaction has locked. Its end deletes the options and the credential. Reserved
 * tokens are released, except those of a call in progress, whose end releases them.
 */
export async function writeRunState(
  tx: Tx,
  id: string,
  { state, holder, leaseMs, hasEnded, error }: RunChange,
): Promise<void> {
  await tx.$executeRaw`
    ${named('write-run-state')}
    UPDATE run
    SET state = ${state}::run_state, holder = ${holder}::text, version = version + 1,
        lease_until = now() + make_interval(secs => ${leaseMs}::double precision / 1000),
        reserved_tokens = CASE WHEN EXISTS (SELECT FROM provider_call c WHERE c.run_id = run.id AND c.ended_at IS NULL)
                               THEN reserved_tokens END,
        ended_at = CASE WHEN ${hasEnded}::boolean THEN now() END,
        options = CASE WHEN ${hasEnded}::boolean THEN '{}' ELSE options END,
        credential = CASE WHEN ${hasEnded}::boolean THEN NULL ELSE credential END,
        error_code = ${error?.code ?? null}::text, error_message = ${error?.message ?? null}::text
    WHERE id = ${id}::text`
}
