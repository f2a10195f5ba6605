// Reads the turns that an embedder has not processed yet, in journal order: entries after its cursor, by the key of
// entry (conversation_id, seq). A named statement of pg: it runs after every append (see embedding-conversations.ts).

import { SYSTEM } from '../../../db/scope.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import { COMPLETES } from '../../turn/journal/completes.ts'

/** The turns of a conversation to embed, up to and including the entry `through`. */
export type Unembedded = {
  conversationId: string
  through: number
  /** In the order of their entries. */
  turns: { entry: number; position: number; seq: number; text: string }[]
}

/** Maximum number of characters that are read of a text: more than any embedder uses. */
const READ_CHARACTERS = 65_536
/** Number of characters after which a read ends. */
const MAX_CHARACTERS = 1_000_000

/**
 * Up to `limit` committed turns, fewer if their texts exceed MAX_CHARACTERS, by conversation in the given order. Omits
 * conversations after the limit, and deleted conversations.
 */
export async function readUnembedded(
  pool: Pool,
  embedder: string,
  conversationIds: readonly string[],
  limit: number,
): Promise<Unembedded[]> {
  type Row = {
    conversationId: string
    head: number
    at: number | null
    position: number
    seq: number
    text: string | null
    /** Number of rows before the end by MAX_CHARACTERS. */
    rows: number
  }
  const { rows } = await pool.query<Row>({
    scope: SYSTEM,
    name: 'read-unembedded',
    text: `
      SELECT r.*
      FROM (
        SELECT a.conversation_id AS "conversationId", j.last_seq AS head, e.at, e."position", e.seq, e.text,
               count(*) OVER () AS rows, a.ordinal,
               sum(length(e.text)) OVER (ORDER BY a.ordinal, e.at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM unnest($1::text[]) WITH ORDINALITY AS a(conversation_id, ordinal)
        JOIN journal j ON j.conversation_id = a.conversation_id
        LEFT JOIN LATERAL (
          SELECT e.seq AS at, t.root_seq AS "position", t.seq, left(searched_text(t.text, t.parts), $3::integer) AS text
          FROM entry e
          JOIN turn t ON t.id = e.turn_id AND t.conversation_id = e.conversation_id AND t.status = 'COMMITTED'
          WHERE e.conversation_id = a.conversation_id AND ${COMPLETES.text}
            AND e.seq > coalesce((SELECT k.through_seq FROM embedding_cursor k
                                  WHERE k.conversation_id = a.conversation_id AND k.embedder = $2::text), 0)
          ORDER BY e.seq LIMIT $4::integer) e ON true
        ORDER BY a.ordinal, e.at LIMIT $4::integer) r
      WHERE coalesce(r.before, 0) < $5::integer
      ORDER BY r.ordinal, r.at`,
    values: [conversationIds, embedder, READ_CHARACTERS, limit, MAX_CHARACTERS],
  })
  const found = new Map<string, Unembedded>()
  for (const { conversationId, head, at: entry, position, seq, text } of rows) {
    const read = found.get(conversationId) ?? { conversationId, through: head, turns: [] }
    found.set(conversationId, read)
    if (entry !== null) read.turns.push({ entry, position, seq, text: text! })
  }
  // If a limit was reached, the last conversation may have more turns after its last row.
  const last = rows.at(-1)
  if (last && (last.rows >= limit || last.rows > rows.length) && last.at !== null)
    found.get(last.conversationId)!.through = last.at
  return [...found.values()]
}
