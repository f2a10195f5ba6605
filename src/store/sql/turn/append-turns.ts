// Calls the SQL function append_turns (prisma/functions/append_turns.sql), which writes all new turns except
// superseding versions. Any number of calls is one statement and one transaction. Uses pg's named statements, because
// Prisma would take about twice as long (`npm run bench -- append`).

import type { ApprovalState } from '../../generated/enums.ts'
import { runSteps, runStepsYielding } from '../../../runtime/yield.ts'
import type { Pool } from '../../db/tenant-pool.ts'
import type { ClaimState } from '../agent/claim/claim-columns.ts'
import { isLarge, toArrays } from './append-arrays.ts'
import type { AppendCall, AppendLimits, ToolCallRef } from './append-call.ts'

/** Details of a tool result whose call was not found, as JSON. */
export type ResultFault = ToolCallRef & {
  turnId: string | null
  /** For 'other_name', the tools that the calls name; for 'ambiguous', the ids of at most 10 turns. */
  found: string[]
}

/** Details of a call that waits for approval, or for its result after the decision, as JSON. */
export type WaitingCall = { callId: string; turnId: string; approvalId: string; state: ApprovalState; runId: string }

/** Details of a claim with which a turn cannot answer, as JSON. `answerId`: the turn that answers with it. */
export type ClaimFault = { turnId: string; state: ClaimState | 'NONE'; answerId: string | null }

/** Details of a clientId that is in use, as JSON. `holder` is the actor who opened the turn and is still writing. */
export type UsedClientId = { clientId: string; turnId: string; status: string; holder: string | null }

/**
 * 'written': the turn was stored. 'repeated': its clientId was stored before, with the same content. All other outcomes
 * refuse the call: 'moved_on': `expected` is not the newest seq; 'other_content': the clientId was used with different
 * content; 'held': another writer has opened a turn with the clientId; 'stranger': an actor in the audience is not a
 * participant; 'no_call': a tool result answers an unknown call; 'other_name': a tool result has another tool's name
 * than its call; 'ambiguous': several calls match a tool result; 'waiting': a tool result answers a call that waits for
 * approval or was denied, or a call has the id of a waiting call; 'no_reply': the author does not see the turn that the
 * turn replies to; 'no_context': the conversation has no such stored context in the author's view; 'no_claim': the
 * author has no live claim on that turn with the given token; 'removed': another actor removed the author from the
 * conversation; 'left': the author has left a MEMBERS conversation; 'unknown': an author
 * was never a participant of a MEMBERS conversation; 'participants', 'open_in_conversation', 'open_by_viewer': a limit
 * is reached. 'stopped' is an additional row of a written turn that wakes up no participant, because too many turns of
 * agents followed each other (`max_agent_turns`).
 */
type AppendOutcome =
  | 'written'
  | 'stopped'
  | 'repeated'
  | 'moved_on'
  | 'other_content'
  | 'held'
  | 'stranger'
  | 'no_call'
  | 'other_name'
  | 'ambiguous'
  | 'waiting'
  | 'no_reply'
  | 'no_context'
  | 'no_claim'
  | 'removed'
  | 'left'
  | 'unknown'
  | 'participants'
  | 'open_in_conversation'
  | 'open_by_viewer'

export type AppendRow = {
  /** Index of the call, and of the turn within it; for 'unknown', the latter is -1. */
  call: number
  index: number
  outcome: AppendOutcome
  /**
   * For a refused call, the newest seq, a UsedClientId, the actor, a ResultFault, a WaitingCall, the id of the turn
   * replied to or of the context, or a ClaimFault; null for a limit and for 'unknown'. For a written turn, 'joined' if
   * the turn made the actor join, and 'changed' if it changed the actor's kind as a participant, one entry before;
   * otherwise null.
   */
  detail: string | null
  id: string
  /** Seq of the turn; for 'stopped', of the entry WAKE_UPS_STOPPED. */
  seq: number
  createdAt: Date
  /** The stored parts of a written turn with tool results, which name their calls; null for other turns. */
  parts: unknown[] | null
  /** The participants that a written turn mentions; null for none, and for other outcomes. */
  mentions: string[] | null
}

/** How a statement appends. */
export type AppendOptions = {
  /** Whether the statement waits for locked conversations; otherwise their calls have no row. */
  wait: boolean
  /** No limits by default. */
  limits?: AppendLimits
  /** Whether the arguments are encoded in steps; by default, if the turns are large. */
  inSteps?: boolean
}

/**
 * Runs the calls, which are of one tenant, and returns their outcomes, unordered. A call for an unknown conversation, or
 * for a MEMBERS conversation in which an author was never a participant, has no row, or the row 'unknown'. A conversation
 * may occur in several calls only if none of them has `expected`.
 */
export async function appendTurns(
  pool: Pool,
  calls: readonly AppendCall[],
  { wait, limits, inSteps = isLarge(calls) }: AppendOptions,
): Promise<AppendRow[]> {
  const { tenant } = calls[0]!
  const steps = toArrays(calls, inSteps)
  const { arrays, places } = inSteps ? await runStepsYielding(steps) : runSteps(steps)
  const { rows } = await pool.query<Omit<AppendRow, 'call' | 'index'> & { turn: number }>({
    scope: tenant,
    name: 'append-turns',
    text: `SELECT turn, outcome, detail, id, seq, created_at AS "createdAt", parts, mentions
           FROM append_turns($1::text, $2::boolean, $3::integer, $4::integer, $5::integer, $6::text[], $7::integer[],
             $8::integer[], $9::integer[], $10::integer[], $11::text[], $12::text[], $13::participant_kind[],
             $14::role[], $15::text[], $16::integer[], $17::integer[], $18::integer[], $19::smallint[], $20::text[],
             $21::text[], $22::jsonb[])`,
    values: [tenant, wait, limits?.participants, limits?.openInConversation, limits?.openByViewer, ...arrays],
  })
  return rows.map(({ turn, ...row }) => ({ ...places[turn - 1]!, ...row }))
}
