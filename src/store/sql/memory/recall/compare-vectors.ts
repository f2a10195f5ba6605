// Computes the exact similarity of turns to a query, by the key of turn_vector (conversation_id, embedder, root_seq,
// seq). Not limited to a view. Stored vectors are rounded and the query is not, as in the search in memory.

import type { Scope } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { vectorValue } from '../../../vectors/vector.ts'
import { versionKey, type QueryVector, type TurnVersionId } from '../../../vectors/vector-search.ts'
import { named } from '../../kernel/sql.ts'

/** Similarities of the given turns, by `versionKey`. A turn without a vector has no key. */
export async function compareVectors(
  db: Db,
  scope: Scope,
  { embedder, query }: QueryVector,
  versions: readonly TurnVersionId[],
): Promise<Map<string, number>> {
  const conversationIds = versions.map(({ conversationId }) => conversationId)
  const positions = versions.map(({ position }) => position)
  const seqs = versions.map(({ seq }) => seq)
  const rows = await db.of(scope).$queryRaw<{ conversationId: string; seq: number; similarity: number }[]>`
    ${named('compare-vectors')}
    SELECT a.conversation_id AS "conversationId", a.seq, v.similarity
    FROM unnest(${conversationIds}::text[], ${positions}::integer[], ${seqs}::integer[]) AS a(conversation_id, root_seq, seq)
    CROSS JOIN LATERAL (
      SELECT -(v.embedding::vector <#> (SELECT ${vectorValue(query)}::vector)) AS similarity
      FROM turn_vector v
      WHERE v.conversation_id = a.conversation_id AND v.embedder = ${embedder}::text
        AND v.root_seq = a.root_seq AND v.seq = a.seq
      LIMIT 1) v`
  return new Map(rows.map((row) => [versionKey(row), row.similarity]))
}
