// Calls the SQL function append_chunks (prisma/functions/append_chunks.sql), which appends deltas to open turns. A named
// statement of pg: it runs for every batch of deltas (`npm run bench -- fan-out`).

import type { Pool } from 'pg'
import type { TurnStatus } from '../../generated/enums.ts'

/** What the function takes for a delta: whole characters, and code units for the halves at its ends. */
export type Delta = {
  turn: string
  tenant: string
  /** Where it begins; null for the turn's end. */
  start: number | null
  /** The second half of a surrogate pair that it begins with; the turn ends in the first one. */
  second: number | null
  text: string
  /** UTF-16 units of the text. */
  units: number
  /** The first half of a pair that it ends in. */
  half: number | null
}

export type ChunkRow = {
  /** Index of the delta. */
  place: number
  outcome: 'written' | 'renewed' | 'half' | 'elsewhere' | 'full' | 'closed' | 'missing'
  conversationId: string | null
  /** Where the text that was stored begins, and the text: a pair that was completed is part of it. */
  start: number | null
  text: string | null
  /** The turn's end now, a trailing half included. */
  end: number | null
  /** The half the turn ends in. */
  half: number | null
  status: TurnStatus | null
}

/**
 * What became of each delta. At most one delta a turn. Written means committed.
 * @param limit UTF-8 bytes one turn's text may have
 */
export async function appendChunks(pool: Pool, deltas: readonly Delta[], limit: number): Promise<ChunkRow[]> {
  const { rows } = await pool.query<ChunkRow>({
    name: 'append-chunks',
    text: 'SELECT place, outcome, conversation_id AS "conversationId", start, text, "end", half, status FROM append_chunks($1::jsonb, $2::integer)',
    values: [JSON.stringify(deltas), limit],
  })
  return rows
}
