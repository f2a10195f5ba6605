// Calls the SQL function find_calls (prisma/functions/find_calls.sql) for a newer version of a turn. append_turns and
// close_turn call it themselves.

import type { Tx } from '../../db/db.ts'
import type { ToolResultRef } from './append-call.ts'
import type { ResultFault, WaitingCall } from './append-turns.ts'

type NotFound = { turnId: null; callPosition: null; approvalId: null }

/**
 * The call of the result at index `part`, or the reason why the result is refused. `approvalId` is the approval of the
 * call if the result may be written because of the decision; otherwise null.
 */
export type FoundCall = { part: number; callId: string } & (
  | { outcome: 'found'; detail: null; turnId: string; callPosition: number; approvalId: string | null }
  | ({ outcome: 'no_call' | 'other_name' | 'ambiguous'; detail: ResultFault } & NotFound)
  | ({ outcome: 'waiting'; detail: WaitingCall } & NotFound)
)

/** Finds the calls in the view of the author with these windows. The caller has locked the conversation. */
export const findCalls = (
  tx: Tx,
  conversationId: string,
  { actor, windows }: { actor: string; windows: readonly number[] },
  results: readonly ToolResultRef[],
): Promise<FoundCall[]> => tx.$queryRaw<FoundCall[]>`
  SELECT part, call_id AS "callId", outcome, detail, turn_id AS "turnId", call_position AS "callPosition",
         approval_id AS "approvalId"
  FROM find_calls(${conversationId}::text, ${actor}::text, ${[...windows]}::integer[],
                  ${JSON.stringify(results)}::jsonb, NULL)`
