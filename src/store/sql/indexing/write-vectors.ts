// Writes vectors of turns. First locks the embedder and the conversations against deletion, and each turn against
// erasure. Skips deleted conversations, removed embedders and erased turns instead of failing the batch.

import { SYSTEM } from '../../scope.ts'
import type { Db } from '../../db.ts'
import { vectorValue } from '../../vector.ts'
import type { TurnVersionId } from '../../vector-search.ts'
import { named } from '../sql.ts'

/** Writes the vectors of turns that have no vector of the embedder, and returns these turns. */
export async function writeVectors(
  db: Db,
  embedder: string,
  vectors: readonly (TurnVersionId & { vector: Float32Array })[],
): Promise<TurnVersionId[]> {
  const conversationIds = vectors.map(({ conversationId }) => conversationId)
  const positions = vectors.map(({ position }) => position)
  const seqs = vectors.map(({ seq }) => seq)
  const values = vectors.map(({ vector }) => vectorValue(vector))
  return db.of(SYSTEM).$queryRaw<TurnVersionId[]>`
    ${named('write-vectors')}
    WITH model AS MATERIALIZED (
      SELECT e.name FROM embedder e WHERE e.name = ${embedder}::text FOR KEY SHARE
    ), alive AS MATERIALIZED (
      SELECT c.id, c.tenant FROM conversation c WHERE c.id = ANY (${[...new Set(conversationIds)]}::text[]) ORDER BY c.id FOR KEY SHARE
    )
    INSERT INTO turn_vector (embedder, conversation_id, tenant, root_seq, seq, embedding)
    SELECT m.name, a.conversation_id, c.tenant, a.root_seq, a.seq, a.vector::vector
    FROM model m
    CROSS JOIN unnest(${conversationIds}::text[], ${positions}::integer[], ${seqs}::integer[], ${values}::text[])
               AS a(conversation_id, root_seq, seq, vector)
    JOIN alive c ON c.id = a.conversation_id
    CROSS JOIN LATERAL (
      SELECT true FROM turn t
      WHERE t.conversation_id = a.conversation_id AND t.root_seq = a.root_seq AND t.seq = a.seq AND t.status = 'COMMITTED'
      LIMIT 1 FOR SHARE) t
    ORDER BY a.conversation_id, a.root_seq, a.seq
    ON CONFLICT DO NOTHING
    RETURNING conversation_id AS "conversationId", root_seq AS "position", seq`
}
