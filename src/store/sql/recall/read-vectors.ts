// Vectors of whole rooms, for a search in memory: by the key of turn_vector (conversation_id, embedder, root_seq, seq).

import type { Pool } from 'pg'

/** A room's vectors, or a part of them: of each its place and, end to end, its components. */
export type RoomVectors = { room: string; count: number; rootSeqs: Int32Array; seqs: Int32Array; vectors: Float32Array }

/** What turns of those rooms with root_seq in (after, through] have; a room without any is left out. */
export async function readVectors(
  pool: Pool,
  embedder: string,
  rooms: readonly string[],
  after: number,
  through: number,
): Promise<RoomVectors[]> {
  const { rows } = await pool.query<{ room: string; packed: Buffer; dimension: number }>({
    name: 'read-vectors',
    text: `
      SELECT v.conversation_id AS room, min(vector_dims(v.embedding)) AS dimension,
             string_agg(int4send(v.root_seq) || int4send(v.seq) || vector_send(v.embedding), ''::bytea) AS packed
      FROM turn_vector v
      WHERE v.conversation_id = ANY ($2::text[]) AND v.embedder = $1::text
        AND v.root_seq > $3::integer AND v.root_seq <= $4::integer
      GROUP BY v.conversation_id`,
    values: [embedder, rooms, after, through],
  })
  return rows.map(({ room, packed, dimension }) => {
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
    return { room, count, rootSeqs, seqs, vectors }
  })
}

/** The newest entry of each of those rooms: no turn has a higher seq. Unknown rooms have no key. */
export async function readHeads(pool: Pool, rooms: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ room: string; seq: number }>({
    name: 'read-heads',
    text: 'SELECT conversation_id AS room, last_seq AS seq FROM journal WHERE conversation_id = ANY ($1::text[])',
    values: [rooms],
  })
  return new Map(rows.map(({ room, seq }) => [room, seq]))
}
