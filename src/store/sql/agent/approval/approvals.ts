// Writes approvals, in transactions that have locked the conversation's journal. All times come from the clock of the
// database, because the clocks of processes may differ.

import type { Db, Tx } from '../../../db/db.ts'
import { SYSTEM } from '../../../db/scope.ts'
import type { ApprovalState } from '../../../generated/enums.ts'
import { named } from '../../kernel/sql.ts'

export type NewApproval = {
  id: string
  conversationId: string
  runId: string
  /** Id of the turn that contains the tool call. */
  turnId: string
  callId: string
  toolName: string
  callHash: string
  /** Seconds until the approval expires. */
  seconds: number
}

export async function insertApproval(tx: Tx, approval: NewApproval): Promise<void> {
  const { id, conversationId, runId, turnId, callId, toolName, callHash, seconds } = approval
  await tx.$executeRaw`
    ${named('insert-approval')}
    INSERT INTO approval (id, conversation_id, run_id, turn_id, call_id, tool_name, call_hash, expires_at)
    VALUES (${id}::text, ${conversationId}::text, ${runId}::text, ${turnId}::text, ${callId}::text, ${toolName}::text,
            ${callHash}::text, now() + make_interval(secs => ${seconds}::integer))`
}

export type Resolution = {
  state: ApprovalState
  /** Arguments that replace the arguments of the call; null keeps them. */
  editedArguments: unknown
  /** Reason of the decision; null if none was given. */
  reason: string | null
  /** Actor that decided; null if the approval expired or was cancelled. */
  decidedBy: string | null
  /** Hash of the call, stored unless the approval has one; null to store none. */
  callHash: string | null
}

/** Resolves a pending approval; does nothing if it is no longer pending. */
export async function writeResolution(tx: Tx, id: string, resolution: Resolution): Promise<void> {
  const { state, editedArguments, reason, decidedBy, callHash } = resolution
  const edited = editedArguments === null ? null : JSON.stringify(editedArguments)
  await tx.$executeRaw`
    ${named('write-resolution')}
    UPDATE approval
    SET state = ${state}::approval_state, edited_arguments = ${edited}::jsonb, reason = ${reason}::text,
        decided_by = ${decidedBy}::text, decided_at = clock_timestamp(), call_hash = coalesce(call_hash, ${callHash}::text)
    WHERE id = ${id}::text AND state = 'PENDING'`
}

/**
 * Clears the edited arguments and the reasons of the decisions about the turns' tool calls, and the hashes of the calls,
 * from which short arguments could be guessed. Returns the number of changed approvals.
 */
export const clearDecisions = (tx: Tx, turnIds: readonly string[]): Promise<number> =>
  tx.$executeRaw`
    UPDATE approval SET edited_arguments = NULL, reason = NULL, call_hash = NULL
    WHERE turn_id = ANY (${turnIds}::text[])
      AND (edited_arguments IS NOT NULL OR reason IS NOT NULL OR call_hash IS NOT NULL)`

/**
 * Clears the edited arguments and the reasons of the actor's decisions, except in conversations under legal hold. An
 * approval with edited arguments is cancelled if its run has not ended, because the call must not be executed with the
 * original arguments. Returns the number of changed approvals.
 */
export const clearDecisionsOf = (tx: Tx, tenant: string, actor: string): Promise<number> =>
  tx.$executeRaw`
    UPDATE approval a
    SET edited_arguments = NULL, reason = NULL,
        state = CASE WHEN a.edited_arguments IS NOT NULL AND r.ended_at IS NULL THEN 'CANCELLED' ELSE a.state END
    FROM run r JOIN conversation c ON c.id = r.conversation_id
    WHERE r.id = a.run_id AND NOT c.legal_hold AND a.tenant = ${tenant}::text AND a.decided_by = ${actor}::text
      AND (a.edited_arguments IS NOT NULL OR a.reason IS NOT NULL)`

/** Returns the database's time. */
export async function readTime(tx: Tx): Promise<Date> {
  const [row] = await tx.$queryRaw<
    [{ now: Date }]
  >`${named('read-approval-time')} SELECT clock_timestamp()::timestamptz(3) AS now`
  return row.now
}

/**
 * Returns up to `limit` pending approvals whose time limit has passed, earliest time limit first. Uses the index
 * approval_due.
 */
export const readDueApprovals = (
  db: Db,
  limit: number,
): Promise<{ id: string; tenant: string; conversationId: string }[]> =>
  db.of(SYSTEM).$queryRaw<{ id: string; tenant: string; conversationId: string }[]>`
    ${named('read-due-approvals')}
    SELECT a.id, a.tenant, a.conversation_id AS "conversationId" FROM approval a
    WHERE a.state = 'PENDING' AND a.expires_at <= now() ORDER BY a.expires_at LIMIT ${limit}::integer`
