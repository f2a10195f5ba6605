// Calls the SQL function append_turns (prisma/functions/append_turns.sql), which writes all new turns except
// superseding versions. Any number of calls is one statement and one transaction. Uses pg's named statements, because
// Prisma would take about twice as long (`npm run bench -- append`).

import type { Pool } from '../../tenant-pool.ts'
import type { ApprovalState, ParticipantKind } from '../../generated/enums.ts'
import type { ClaimState } from '../claim/claim-columns.ts'
import { stringifyInSteps, unitsOf } from '../../../json-steps.ts'

/** A turn in the input of append_turns, with the field names of the JSON record. */
export type AppendedTurn = {
  id: string
  actor: string
  /** The kind of participant that the actor becomes if this turn makes the actor join. */
  kind: string
  /** The kind of the author's own credential; null or omitted if another credential, or none, writes the turn. */
  authorKind?: ParticipantKind | null
  role: string
  status: 'COMMITTED' | 'STREAMING'
  text: string
  parts?: unknown[] | null
  audience?: string[] | null
  tokens: number
  promptTokens?: number | null
  completionTokens?: number | null
  model?: string | null
  adapter?: string | null
  traceId?: string | null
  sources?: unknown[] | null
  pinned?: boolean | null
  metadata?: Record<string, unknown> | null
  clientId?: string | null
  clientHash?: string | null
  /** Hash of the writer's token; required for status STREAMING. */
  writerHash?: string
  /** Duration of the lease, s, for status STREAMING; null or omitted for that of the server. */
  leaseSeconds?: number | null
  /** Hash of the token of the claim with which the turn answers `replyToId`; omitted for a turn without a claim. */
  claimHash?: string
  /** Holder of the run that writes the turn's results; omitted for a turn that no run writes. */
  runHolder?: string
  createdAt?: Date | null
  /** Time at which the server received the turn; required if `createdAt` is given. */
  importedAt?: Date | null
  /** Index entry for recall (domain/indexing/index-entry.ts); if omitted, the turn is indexed later. */
  terms?: number[]
  cues?: number
  /** Id of a turn of the conversation that the author sees. */
  replyToId?: string | null
  /** Id of a stored context of the conversation, built in the view of the author. */
  contextId?: string | null
  /** The tool calls that the turn makes; no callId twice. */
  calls?: ToolCallRef[]
  /** Its tool results. */
  results?: ToolResultRef[]
  /** The names in its text, which may be those of participants; absent for none. */
  mentions?: string[]
}

export type ToolCallRef = { callId: string; name: string }

/** A tool result, and the call that it answers. */
export type ToolResultRef = ToolCallRef & {
  /** Index of the result among the parts. */
  part: number
  /** The turn that made the call, in any version; null or omitted to find it by `callId` and `name`. */
  turnId?: string | null
  /**
   * Index in `turns` of the turn that made the tool call, if the same AppendCall contains that turn; 0 if a ClosedTurn
   * makes the call itself.
   */
  place?: number
}

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
 * Turns of one conversation that are written atomically. `expected` is the required seq of the newest entry; null for
 * any.
 */
export type AppendCall = {
  conversationId: string
  tenant: string
  viewer: string
  expected?: number | null
  limits?: AppendLimits
  turns: AppendedTurn[]
}

export type AppendLimits = {
  /** Maximum number of current and former participants of a conversation. */
  participants: number
  /** Maximum number of open turns of a conversation. */
  openInConversation: number
  /** Maximum number of open turns that a viewer has opened. Calls that run at the same time may exceed it. */
  openByViewer: number
}

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

/** Number of UTF-16 units of turns above which the parameters of a statement are encoded in steps. */
const LARGE_UNITS = 128 * 1024

/** Whether the texts and JSON values of the turns have more than about LARGE_UNITS. */
export function isLarge(calls: readonly AppendCall[]): boolean {
  let units = 0
  for (const { turns } of calls) {
    for (const { text, parts, metadata, sources } of turns) {
      units += text.length
      for (const json of [parts, metadata, sources]) {
        if (json != null && units <= LARGE_UNITS) units += unitsOf(json, LARGE_UNITS - units)
      }
      if (units > LARGE_UNITS) return true
    }
  }
  return false
}

/** The version byte at the beginning of a jsonb value in binary format, in which pg sends a Buffer. */
const JSONB_VERSION = Buffer.from([1])

const toJsonb = async (calls: readonly AppendCall[]): Promise<string | Buffer> =>
  isLarge(calls) ? Buffer.concat([JSONB_VERSION, ...(await stringifyInSteps(calls))]) : JSON.stringify(calls)

/**
 * Runs the calls and returns their outcomes, unordered. A call for an unknown conversation, or for a MEMBERS
 * conversation in which an author was never a participant, has no row, or the row 'unknown'. If `wait` is false, a call
 * for a locked conversation has no row either. A conversation may occur in several calls only if none of them has
 * `expected`.
 */
export async function appendTurns(pool: Pool, calls: readonly AppendCall[], wait: boolean): Promise<AppendRow[]> {
  const { rows } = await pool.query<AppendRow>({
    scope: calls[0]!.tenant,
    name: 'append-turns',
    text: `SELECT call, place AS index, outcome, detail, id, seq, created_at AS "createdAt", parts, mentions
           FROM append_turns($1::jsonb, $2::boolean)`,
    values: [await toJsonb(calls), wait],
  })
  return rows
}
