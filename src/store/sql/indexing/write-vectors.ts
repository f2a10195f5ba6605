// Keeps vectors of turns. Conversations are locked against deletion first, so that one that is gone is passed over instead of
// failing all of them; so are an embedder that was given up and turns that were erased.

import type { Pool } from 'pg'
import type { Place } from '../../vector-search.ts'
import { vectorsParameter } from '../../vector.ts'

/** The places that had no vector before, and have now. All vectors are of one dimension. */
export async function writeVectors(
  pool: Pool,
  embedder: string,
  vectors: readonly (Place & { vector: Float32Array })[],
): Promise<Place[]> {
  const { rows } = await pool.query<Place>({
    name: 'write-vectors',
    text: `
      WITH model AS MATERIALIZED (
        SELECT e.name FROM embedder e WHERE e.name = $1::text FOR KEY SHARE
      ), alive AS MATERIALIZED (
        SELECT c.id FROM conversation c WHERE c.id = ANY ($2::text[]) ORDER BY c.id FOR KEY SHARE
      )
      INSERT INTO turn_vector (embedder, conversation_id, root_seq, seq, embedding)
      SELECT m.name, a.conversation_id, a.root_seq, a.seq, ($5::real[])[(a.n - 1) * $6::integer + 1 : a.n * $6::integer]::vector
      FROM model m
      CROSS JOIN unnest($2::text[], $3::integer[], $4::integer[]) WITH ORDINALITY AS a(conversation_id, root_seq, seq, n)
      CROSS JOIN LATERAL (
        SELECT true FROM turn t
        WHERE t.conversation_id = a.conversation_id AND t.root_seq = a.root_seq AND t.seq = a.seq AND t.status = 'COMMITTED'
        LIMIT 1) t
      WHERE a.conversation_id IN (SELECT id FROM alive)
      ORDER BY a.conversation_id, a.root_seq, a.seq
      ON CONFLICT DO NOTHING
      RETURNING conversation_id AS "conversationId", root_seq AS "rootSeq", seq`,
    values: [
      embedder,
      vectors.map(({ conversationId }) => conversationId),
      vectors.map(({ rootSeq }) => rootSeq),
      vectors.map(({ seq }) => seq),
      vectorsParameter(vectors.map(({ vector }) => vector)),
      vectors[0]?.vector.length ?? 0,
    ],
  })
  return rows
}
