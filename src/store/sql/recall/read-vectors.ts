// Vectors of whole conversations, for a search in memory: by the key of turn_vector (conversation_id, embedder, root_seq, seq).

import type { Pool } from 'pg'

/** A conversation's vectors, or a part of them: of each its place and, end to end, its components. */
export type ConversationVectors = {
  conversationId: string
  count: number
  rootSeqs: Int32Array
  seqs: Int32Array
  vectors: Float32Array
}

/** What turns of those conversations with root_seq in (after, through] have; a conversation without any is left out. */
export async function readVectors(
  pool: Pool,
  embedder: string,
  conversationIds: readonly string[],
  after: number,
  through: number,
): Promise<ConversationVectors[]> {
  const { rows } = await pool.query<{ conversationId: string; packed: Buffer; dimension: number }>({
    name: 'read-vectors',
    text: `
      SELECT v.conversation_id AS "conversationId", min(vector_dims(v.embedding)) AS dimension,
             string_agg(int4send(v.root_seq) || int4send(v.seq) || vector_send(v.embedding), ''::bytea) AS packed
      FROM turn_vector v
      WHERE v.conversation_id = ANY ($2::text[]) AND v.embedder = $1::text
        AND v.root_seq > $3::integer AND v.root_seq <= $4::integer
      GROUP BY v.conversation_id`,
    values: [embedder, conversationIds, after, through],
  })
  return rows.map(({ conversationId, packed, dimension }) => {
    // Two integers; then, as Postgres sends a vector, its dimension and zero in two bytes each.
    const bytes = 12 + 4 * dimension
    const count = packed.length / bytes
    const rootSeqs = new Int32Array(count)
    const seqs = new Int32Array(count)
    const vectors = new Float32Array(count * dimension)
    const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
    for (let i = 0, at = 0, to = 0; i < count; i++) {
      rootSeqs[i] = view.getInt32(at)
      seqs[i] = view.getInt32(at + 4)
      at += 12
      for (let d = 0; d < dimension; d++, at += 4) vectors[to++] = view.getFloat32(at)
    }
    return { conversationId, count, rootSeqs, seqs, vectors }
  })
}

/** The newest entry of each of those conversations: no turn has a higher seq. Unknown conversations have no key. */
export async function readHeads(pool: Pool, conversationIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ conversationId: string; seq: number }>({
    name: 'read-heads',
    text: 'SELECT conversation_id AS "conversationId", last_seq AS seq FROM journal WHERE conversation_id = ANY ($1::text[])',
    values: [conversationIds],
  })
  return new Map(rows.map(({ conversationId, seq }) => [conversationId, seq]))
}
