// Reads the tool calls that keep a turn from being written: they wait for approval, for their result after the decision,
// or for the results of a client. The transaction must have locked the conversation.

import type { Tx } from '../../../db/db.ts'
import type { ToolCallRef } from '../../turn/append-call.ts'
import type { WaitingCall } from '../../turn/append-turns.ts'

/** A waiting call of the actor that has the id of one of the calls; null for none. See prisma/functions/waiting_call.sql. */
export async function readCallWithSameId(
  tx: Tx,
  conversationId: string,
  actor: string,
  calls: readonly ToolCallRef[],
): Promise<WaitingCall | null> {
  const [row] = await tx.$queryRaw<[{ waiting: WaitingCall | null }]>`
    SELECT waiting_call(${conversationId}::text, ${actor}::text, ${JSON.stringify(calls)}::jsonb) AS waiting`
  return row.waiting
}

/**
 * A call for which the turn cannot be superseded; null for none: a call of the turn that waits, or that was approved or
 * denied; or a denied call whose denial the turn contains. Uses the index approval_call and the primary key of approvals.
 * @param approvalIds the approvals that results in the turn name
 */
export async function readCallOfTurn(
  tx: Tx,
  turnId: string,
  approvalIds: readonly string[],
): Promise<WaitingCall | null> {
  const [row] = await tx.$queryRaw<WaitingCall[]>`
    SELECT a.call_id AS "callId", a.turn_id AS "turnId", a.id AS "approvalId", a.state, a.run_id AS "runId"
    FROM approval a JOIN run r ON r.id = a.run_id
    WHERE a.turn_id = ${turnId}::text
      AND (a.state IN ('APPROVED', 'DENIED') OR r.turn_id = a.turn_id AND r.ended_at IS NULL)
       OR a.id = ANY (${approvalIds}::text[]) AND a.state = 'DENIED'
    ORDER BY a.state IN ('APPROVED', 'DENIED'), a.id LIMIT 1`
  return row ?? null
}

/**
 * Ids of the calls of the version that no turn answers, ascending; none if the run that made them has ended. A result
 * from before the version answers a call of an older one. Uses the keys of tool_call, tool_result, turn and run.
 */
export async function readUnansweredCalls(
  tx: Tx,
  conversationId: string,
  { id, position }: { id: string; position: number },
): Promise<string[]> {
  const rows = await tx.$queryRaw<{ callId: string }[]>`
    SELECT c.call_id AS "callId" FROM tool_call c
    JOIN turn t ON t.id = c.turn_id AND t.conversation_id = c.conversation_id
    WHERE c.conversation_id = ${conversationId}::text AND c.turn_id = ${id}::text
      AND NOT EXISTS (
        SELECT FROM tool_result r JOIN turn y ON y.id = r.turn_id AND y.conversation_id = ${conversationId}::text
        WHERE r.conversation_id = ${conversationId}::text AND r.call_id = c.call_id
          AND r.call_position = ${position}::integer AND y.superseded_by IS NULL AND y.seq >= t.seq)
      -- The trace of a reply of a run is the run.
      AND NOT EXISTS (SELECT FROM run r WHERE r.id = t.trace_id AND r.conversation_id = ${conversationId}::text
                                          AND r.ended_at IS NOT NULL)
    ORDER BY 1`
  return rows.map(({ callId }) => callId)
}
