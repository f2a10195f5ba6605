// Calls the SQL function append_chunks (prisma/migrations/…_transcript): writes deltas to open turns, together.

import type { Pool } from 'pg'
import type { TurnStatus } from '../generated/enums.ts'

export type Delta = {
  turn: string
  tenant: string
  /** Where the text begins; null for the turn's end. */
  start: number | null
  text: string
  /** UTF-16 units of the text. */
  length: number
  /** The first half of a surrogate pair that follows the text, a code unit. */
  half: number | null
  /** Whether the text begins with the half that the turn ends in. */
  joins: boolean
}

export type ChunkRow = {
  /** Index of the delta. */
  place: number
  outcome: 'written' | 'renewed' | 'half' | 'elsewhere' | 'full' | 'closed' | 'missing'
  room: string | null
  /** The stretch written. */
  start: number | null
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
    text: 'SELECT place, outcome, room, start, "end", half, status FROM append_chunks($1::jsonb, $2::integer)',
    values: [JSON.stringify(deltas), limit],
  })
  return rows
}
