// Calls the SQL function close_turn (prisma/functions/close_turn.sql), which commits or aborts an open turn. A named
// statement of pg: it ends every stream (`npm run bench -- fan-out`).

import type { Pool } from 'pg'
import type { TurnStatus } from '../../generated/enums.ts'

export type ClosedTurn = {
  tenant: string
  id: string
  status: 'COMMITTED' | 'ABORTED'
  /** End of the text that the caller read in UTF-16 units, without a trailing high surrogate. */
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
  calls?: string[]
  answers?: string[]
  /** Closes the turn only if its writer has been silent for this long. */
  silentMs?: number | null
}

export type CloseRow = {
  outcome: 'written' | 'closed' | 'grown' | 'alive' | 'no_call' | 'missing'
  detail: string | null
  conversationId: string
  actor: string
  seq: number | null
  status: TurnStatus
}

/** Closes the turn and returns the outcome: `grown` means that a delta arrived since the text was read. */
export async function closeTurn(pool: Pool, turn: ClosedTurn): Promise<CloseRow> {
  const { rows } = await pool.query<CloseRow>({
    name: 'close-turn',
    text: `SELECT outcome, detail, conversation_id AS "conversationId", actor, seq, status
           FROM close_turn($1, $2, $3::turn_status, $4, $5, $6::jsonb, $7, $8, $9, $10, $11::jsonb, $12, $13::text[],
                           $14::text[], $15, $16::integer[], $17::smallint)`,
    values: [
      turn.tenant,
      turn.id,
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
