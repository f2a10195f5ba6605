// Calls the SQL function close_turn (prisma/functions/close_turn.sql), which commits or aborts an open turn. Uses pg's
// named statements, because every streaming turn ends with one (`npm run bench -- fan-out`).

import type { Pool } from 'pg'
import type { TurnStatus } from '../../generated/enums.ts'

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
  /** Ids of the tool calls that the turn makes. */
  calls?: string[]
  /** Ids of the tool calls that the turn answers. */
  answers?: string[]
  /** Minimum time for which the writer must have been silent, in ms; null or omitted for none. */
  silentMs?: number | null
}

export type CloseRow = {
  /**
   * 'written': the turn was closed. 'closed': it was not open. 'grown': a delta arrived since the text was read.
   * 'alive': its writer was not silent for long enough. 'no_call': it answers an unknown tool call.
   * 'other_writer': the token is not the writer's. 'left': the author has left the conversation. 'missing': the viewer
   * neither opened nor sees such a turn.
   */
  outcome: 'written' | 'closed' | 'grown' | 'alive' | 'no_call' | 'other_writer' | 'left' | 'missing'
  /** Id of the unknown tool call, for 'no_call'; otherwise null. */
  detail: string | null
  conversationId: string
  actor: string
  /** Seq of the new entry; null unless written. */
  seq: number | null
  status: TurnStatus
}

/** Commits or aborts the turn, and returns the outcome. */
export async function closeTurn(pool: Pool, turn: ClosedTurn): Promise<CloseRow> {
  const { rows } = await pool.query<CloseRow>({
    name: 'close-turn',
    text: `SELECT outcome, detail, conversation_id AS "conversationId", actor, seq, status
           FROM close_turn($1, $2, $3, $4, $5::turn_status, $6, $7, $8::jsonb, $9, $10, $11, $12, $13::jsonb, $14,
                           $15::text[], $16::text[], $17, $18::integer[], $19::smallint)`,
    values: [
      turn.tenant,
      turn.viewer,
      turn.id,
      turn.writer,
      turn.status,
      turn.end,
      turn.text,
      turn.parts ? JSON.stringify(turn.parts) : null,
      turn.tokens,
      turn.promptTokens,
      turn.completionTokens,
      turn.model,
      turn.metadata ? JSON.stringify(turn.metadata) : null,
      turn.reason,
      turn.calls ?? [],
      turn.answers ?? [],
      turn.silentMs,
      turn.terms,
      turn.cues,
    ],
  })
  return rows[0]!
}
