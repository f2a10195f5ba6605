// The turns that an embedder has yet to read, in the order of the journals: entries after its cursor, by the key of
// entry (conversation_id, seq).

import type { Db } from '../../db.ts'

/** A conversation was read up to and with `through`, and this is what there is to embed on the way. */
export type Unembedded = {
  conversationId: string
  through: number
  turns: { rootSeq: number; seq: number; text: string }[]
}

/** Characters of a text that are handed on: more than any embedder reads. */
const READ_CHARACTERS = 65_536

/**
 * Up to `limit` committed turns, conversation after conversation in the order given; a conversation that is beyond the limit, or gone, is left
 * out.
 */
export async function readUnembedded(
  db: Db,
  embedder: string,
  conversationIds: readonly string[],
  limit: number,
): Promise<Unembedded[]> {
  type Row = {
    conversationId: string
    head: number
    at: number | null
    rootSeq: number
    seq: number
    text: string | null
  }
  const rows = await db.$queryRaw<Row[]>`
      SELECT a.conversation_id AS "conversationId", j.last_seq AS head, e.at, e."rootSeq", e.seq, e.text
      FROM unnest(${conversationIds}::text[]) WITH ORDINALITY AS a(conversation_id, place)
      JOIN journal j ON j.conversation_id = a.conversation_id
      LEFT JOIN LATERAL (
        SELECT e.seq AS at, t.root_seq AS "rootSeq", t.seq, left(t.text, ${READ_CHARACTERS}::integer) AS text
        FROM entry e
        JOIN turn t ON t.id = e.turn_id AND t.status = 'COMMITTED'
        WHERE e.conversation_id = a.conversation_id AND e.kind IN ('APPENDED', 'COMMITTED', 'SUPERSEDED')
          AND e.seq > coalesce((SELECT k.through_seq FROM embedding_cursor k
                                WHERE k.conversation_id = a.conversation_id AND k.embedder = ${embedder}::text), 0)
        ORDER BY e.seq LIMIT ${limit}::integer) e ON true
      ORDER BY a.place, e.at LIMIT ${limit}::integer`
  const found = new Map<string, Unembedded>()
  for (const { conversationId, head, at, rootSeq, seq, text } of rows) {
    const read = found.get(conversationId) ?? { conversationId, through: head, turns: [] }
    found.set(conversationId, read)
    if (at !== null) read.turns.push({ rootSeq, seq, text: text! })
  }
  // Where the limit cut, the last conversation was read to its last row only.
  const last = rows.at(-1)
  if (last && rows.length === limit && last.at !== null) found.get(last.conversationId)!.through = last.at
  return [...found.values()]
}
