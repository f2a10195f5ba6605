// Reads the similarities of all turns with a vector, through the port for vector search.

import { SYSTEM } from '../../src/store/db/scope.ts'
import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { versionKey, type TurnVersionId, type VectorSearch } from '../../src/store/vectors/vector-search.ts'
import { sql } from './sql.ts'

/** Returns the similarities by conversation, then seq. A conversation without vectors has an empty map. */
export async function similaritiesOf(
  { pool, vectors }: { pool: Pool; vectors: VectorSearch },
  embedder: string,
  conversationIds: readonly string[],
  query: Float32Array,
): Promise<Map<string, Map<number, number>>> {
  const { rows } = await sql(pool).query<TurnVersionId>(
    `SELECT conversation_id AS "conversationId", root_seq AS "position", seq FROM turn
     WHERE conversation_id = ANY ($1) ORDER BY seq`,
    [conversationIds],
  )
  const found = await vectors.compare(SYSTEM, { embedder, query }, rows)
  const byConversation = new Map(conversationIds.map((id) => [id, new Map<number, number>()]))
  for (const version of rows) {
    const similarity = found.get(versionKey(version))
    if (similarity !== undefined) byConversation.get(version.conversationId)!.set(version.seq, similarity)
  }
  return byConversation
}
