// Calls the SQL function append_turns (prisma/functions/append_turns.sql), which writes every new turn except
// superseding ones. One statement, one transaction, any number of calls. A named statement of pg: Prisma would take
// about twice as long (`npm run bench -- append`).

import type { Pool } from 'pg'

/** A turn in the input of append_turns; the names are those of its JSON record. */
export type AppendedTurn = {
  id: string
  actor: string
  /** The participant's kind, if the actor joins with this turn. */
  kind: string
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
  createdAt?: Date | null
  /** Index entry for recall (domain/recall/index-entry.ts); if omitted, the turn is indexed later. */
  terms?: number[]
  cues?: number
  calls?: string[]
  answers?: string[]
}

/** Turns that are written atomically. */
export type AppendCall = { conversationId: string; tenant: string; expected?: number | null; turns: AppendedTurn[] }

type AppendOutcome = 'written' | 'repeated' | 'moved_on' | 'other_content' | 'stranger' | 'no_call'

export type AppendRow = {
  /** Index of the call, and of the turn within it. */
  call: number
  place: number
  outcome: AppendOutcome
  /**
   * The fault's lastSeq, clientId, unknown actor or call id; for a written turn, 'joined' if the actor joined with it.
   */
  detail: string | null
  id: string
  seq: number
  createdAt: Date
}

/**
 * The outcomes of the calls, in no order. Calls for unknown conversations have no row; nor do calls for locked
 * conversations, unless `wait`. A conversation may occur in several calls only if none of them has `expected`.
 */
export async function appendTurns(pool: Pool, calls: readonly AppendCall[], wait: boolean): Promise<AppendRow[]> {
  const { rows } = await pool.query<AppendRow>({
    name: 'append-turns',
    text: `SELECT call, place, outcome, detail, id, seq, created_at AS "createdAt"
           FROM append_turns($1::jsonb, $2::boolean)`,
    values: [JSON.stringify(calls), wait],
  })
  return rows
}
