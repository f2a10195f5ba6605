// Calls the SQL function close_turn (prisma/functions/close_turn.sql), which commits or aborts an open turn. Uses pg's
// named statements, because every streaming turn ends with one (`npm run bench -- fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'
import type { TurnStatus } from '../../../generated/enums.ts'
import type { ToolCallRef, ToolResultRef } from '../append-call.ts'

export type ClosedTurn = {
  tenant: string
  /** The actor who closes the turn; may differ from its author. Null for the sweep. */
  viewer: string | null
  id: string
  /** Hash of the writer's token; null for the sweep, which sets `silentMs`. */
  writer: string | null
  status: 'COMMITTED' | 'ABORTED'
  /** Length of the text that the caller read, in UTF-16 units, without a trailing high surrogate. */
  end: number
  /** stream.part_bytes as the caller read it. */
  partBytes: number
  text: string
  parts?: unknown[] | null
  tokens: number
  promptTokens?: number | null
  completionTokens?: number | null
  model?: string | null
  metadata?: Record<string, unknown> | null
  reason?: string | null
  terms?: number[]
  cues?: number
  /** The tool calls that the turn makes; no callId twice. */
  calls?: ToolCallRef[]
  /** Its tool results; `place` is 0 for a call that the turn itself makes. */
  results?: ToolResultRef[]
  /** The names in its text, which may be those of participants; absent for none. */
  mentions?: string[]
  /** Minimum time for which the writer must have been silent, in ms; null or omitted for none. */
  silentMs?: number | null
  /** Digest of the request and of the writer's token; null for the sweep. */
  hash: string | null
}

export type CloseRow = {
  /**
   * 'written': the turn was closed. 'closed': it was not open. 'repeated': a call with the same hash closed it.
   * 'grown': a delta arrived since the content was read. 'alive': its writer was not silent for long enough. 'no_call',
   * 'other_name', 'ambiguous', 'waiting': as in append-turns.ts. 'other_writer': the token is not the writer's. 'left': the author
   * has left the conversation. 'missing': the tenant has no such turn, or the viewer neither opened it nor sees its
   * conversation.
   */
  outcome:
    | 'written'
    | 'closed'
    | 'repeated'
    | 'grown'
    | 'alive'
    | 'no_call'
    | 'other_name'
    | 'ambiguous'
    | 'waiting'
    | 'other_writer'
    | 'left'
    | 'missing'
  /** A ResultFault for 'no_call', 'other_name' and 'ambiguous'; a WaitingCall for 'waiting'; otherwise null. */
  detail: string | null
  conversationId: string
  actor: string
  /** Seqs of the first and the last new entry; null unless written. */
  seq: number | null
  lastSeq: number | null
  status: TurnStatus
}

/** Commits or aborts the turn, and returns the outcome. */
export async function closeTurn(pool: Pool, turn: ClosedTurn): Promise<CloseRow> {
  const { rows } = await pool.query<CloseRow>({
    scope: turn.tenant,
    name: 'close-turn',
    text: `SELECT outcome, detail, conversation_id AS "conversationId", actor, seq, last_seq AS "lastSeq",
                  status
           FROM close_turn($1, $2, $3, $4, $5::turn_status, $6, $7, $8, $9::jsonb, $10, $11, $12, $13, $14::jsonb, $15,
                           $16::jsonb, $17::jsonb, $18, $19::integer[], $20::smallint, $21::text[], $22)`,
    values: [
      turn.tenant,
      turn.viewer,
      turn.id,
      turn.writer,
      turn.status,
      turn.end,
      turn.partBytes,
      turn.text,
      turn.parts ? JSON.stringify(turn.parts) : null,
      turn.tokens,
      turn.promptTokens,
      turn.completionTokens,
      turn.model,
      turn.metadata ? JSON.stringify(turn.metadata) : null,
      turn.reason,
      JSON.stringify(turn.calls ?? []),
      turn.results?.length ? JSON.stringify(turn.results) : null,
      turn.silentMs,
      turn.terms,
      turn.cues,
      turn.mentions,
      turn.hash,
    ],
  })
  return rows[0]!
}
