// Writes vectors of turns. First locks the embedder and the conversations against deletion, and each turn against
// erasure. Skips deleted conversations, removed embedders and erased turns instead of failing the batch. Vectors are
// sent in binary form: as text, formatting and parsing them takes several times as long as storing them.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { halvesArray } from '../../../vectors/vector.ts'
import type { TurnVersionId } from '../../../vectors/vector-search.ts'
import { named } from '../../kernel/sql.ts'

/** The id of the type halfvec in each database. It cannot change while the table of vectors exists. */
const types = new WeakMap<object, Promise<number>>()

function halvesType(db: Db): Promise<number> {
  let type = types.get(db.prisma)
  if (!type) {
    type = db.of(SYSTEM).$queryRaw<
      [{ id: number }]
    >`SELECT 'halfvec'::regtype::oid::bigint::double precision AS id`.then(([{ id }]) => id)
    types.set(db.prisma, type)
    type.catch(() => types.delete(db.prisma))
  }
  return type
}

/**
 * Writes the vectors of turns that have no vector of the embedder, and returns these turns. All vectors have the
 * embedder's dimension.
 */
export async function writeVectors(
  db: Db,
  embedder: string,
  vectors: readonly (TurnVersionId & { vector: Float32Array })[],
): Promise<TurnVersionId[]> {
  const conversationIds = vectors.map(({ conversationId }) => conversationId)
  const positions = vectors.map(({ position }) => position)
  const seqs = vectors.map(({ seq }) => seq)
  const values = halvesArray(
    vectors.map(({ vector }) => vector),
    await halvesType(db),
  )
  return db.of(SYSTEM).$queryRaw<TurnVersionId[]>`
    ${named('write-vectors')}
    WITH model AS MATERIALIZED (
      SELECT e.name FROM embedder e WHERE e.name = ${embedder}::text FOR KEY SHARE
    ), alive AS MATERIALIZED (
      SELECT c.id, c.tenant FROM conversation c WHERE c.id = ANY (${[...new Set(conversationIds)]}::text[]) ORDER BY c.id FOR KEY SHARE
    )
    INSERT INTO turn_vector (embedder, conversation_id, tenant, root_seq, seq, embedding)
    SELECT m.name, a.conversation_id, c.tenant, a.root_seq, a.seq, a.vector
    FROM model m
    CROSS JOIN unnest(${conversationIds}::text[], ${positions}::integer[], ${seqs}::integer[], ${values}::halfvec[])
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
