// Calls the SQL function append_chunks (prisma/functions/append_chunks.sql), which appends deltas to open turns. Uses
// pg's named statements, because every batch of deltas runs one (`npm run bench -- fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'
import type { TurnStatus } from '../../../generated/enums.ts'

/**
 * A delta in the input of append_chunks: a text of whole characters, and unpaired surrogates before and after it.
 */
export type Delta = {
  turn: string
  tenant: string
  /** The actor who sends the delta; may differ from the turn's author. */
  viewer: string
  /** Hash of the writer's token. */
  writer: string
  /** Number of the part of the turn that the delta belongs to; 0 for the turn's text. */
  part: number
  /** The part without its streamed text, to open the part or to add properties to it; null for neither. */
  content: Readonly<Record<string, unknown>> | null
  /** Whether the delta is the last one of its part. */
  complete: boolean
  /** Offset of the delta in the text of the part, in UTF-16 units; null to append at its end. */
  start: number | null
  /** Low surrogate before the text, whose high surrogate must be at the stored end; null for none. */
  second: number | null
  text: string
  /** Length of the text in UTF-16 units. */
  units: number
  /** High surrogate after the text, whose low surrogate is in the next delta; null for none. */
  half: number | null
}

export type ChunkRow = {
  /** Index of the delta in the input. */
  index: number
  /**
   * 'written': the delta was stored. 'renewed': the delta changes nothing, so only the lease was renewed. 'half': a
   * surrogate would stay unpaired. 'elsewhere': `start` is not the end of the text. 'full': the turn would exceed
   * `limit`. 'unopened': the turn has only `end` parts, and the delta does not open the next one. 'other_part': the
   * stored content of the part differs. 'complete': the part has had its last delta. 'closed': the turn is not open.
   * 'other_writer': the token is not the writer's. 'left': the author has left the conversation.
   * 'missing': the tenant has no such turn, or the viewer neither opened it nor sees its conversation. 'held': the
   * turn's text is held back, so that it must be written by appendHeld (held-text.ts).
   */
  outcome:
    | 'written'
    | 'renewed'
    | 'half'
    | 'elsewhere'
    | 'full'
    | 'unopened'
    | 'other_part'
    | 'complete'
    | 'closed'
    | 'other_writer'
    | 'left'
    | 'missing'
    | 'held'
  conversationId: string | null
  /** Offset and content of the stored text, including a completed surrogate pair. */
  start: number | null
  text: string | null
  /** New end of the text in UTF-16 units, including a trailing high surrogate. */
  end: number | null
  /** High surrogate at the end of the text; null for none. */
  half: number | null
  status: TurnStatus | null
  /** Offset in the turn's text at which the part stands, in UTF-16 units; null for part 0. */
  at: number | null
  /** Whether the turn has an audience. If so, its text must not be sent to other processes. */
  isPrivate: boolean
}

/**
 * Appends the deltas, at most one per turn, and returns the outcome of each. Stored deltas are committed.
 * @param limit maximum size of a turn's text and parts in UTF-8 bytes
 */
export async function appendChunks(pool: Pool, deltas: readonly Delta[], limit: number): Promise<ChunkRow[]> {
  const { rows } = await pool.query<ChunkRow>({
    scope: deltas[0]!.tenant,
    name: 'append-chunks',
    // Materialized, because the policies of tables let only leakproof operators use an index, and those of jsonb are
    // not.
    text: `WITH appended AS MATERIALIZED (
             SELECT c.*, $1::jsonb -> c.place ->> 'turn' AS turn_id FROM append_chunks($1::jsonb, $2::integer) c)
           SELECT place AS index, outcome, conversation_id AS "conversationId", start, text, "end", half, status,
                  at, coalesce((SELECT t.audience IS NOT NULL FROM turn t
                            WHERE t.id = a.turn_id AND t.conversation_id = a.conversation_id), true) AS "isPrivate"
           FROM appended a`,
    values: [JSON.stringify(deltas), limit],
  })
  return rows
}
