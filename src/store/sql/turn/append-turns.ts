// Calls the SQL function append_turns (prisma/functions/append_turns.sql), which every new turn goes through except a
// superseding one. One statement, one transaction, any number of calls. A named statement of pg: `npm run bench -- append`
// measures it, and Prisma takes about twice as long for one statement.

import type { Pool } from 'pg'

/** A turn as the function takes it; the names are its record's. */
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
  /** What recall finds it by (domain/recall/index-entry.ts); without them it is indexed later. */
  terms?: number[]
  cues?: number
  calls?: string[]
  answers?: string[]
}

/** Turns that are written together or not at all. */
export type AppendCall = { conversationId: string; tenant: string; expected?: number | null; turns: AppendedTurn[] }

type AppendOutcome = 'written' | 'repeated' | 'moved_on' | 'other_content' | 'stranger' | 'no_call'

export type AppendRow = {
  /** Index of the call, and of the turn in it. */
  call: number
  place: number
  outcome: AppendOutcome
  /** What is wrong: the conversation's lastSeq, the clientId, the stranger or the call id. 'joined' where the actor did. */
  detail: string | null
  id: string
  seq: number
  createdAt: Date
}

/**
 * What became of each call, in no order. Calls for unknown conversations have no row, nor have those for locked conversations unless
 * `wait`. At most one call a conversation where one of them carries `expected`.
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
