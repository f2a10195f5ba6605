// Reads the vectors of conversations in a range of positions, for a search in memory, by the key of turn_vector
// (conversation_id, embedder, root_seq, seq). Each conversation's vectors are returned as one packed value, which is
// much faster to read than one row per vector.

import type { Scope } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { HALVES_HEADER, readHalves } from '../../../vectors/vector.ts'

/**
 * The vectors of `count` turns of a conversation: the seqs of each turn, and the vectors' components one after another.
 */
export type ConversationVectors = {
  conversationId: string
  count: number
  positions: Int32Array
  seqs: Int32Array
  vectors: Float32Array
}

/**
 * The vectors of the conversations' turns with position in (after, through], unordered. Conversations without vectors
 * are omitted.
 */
export async function readVectors(
  db: Db,
  scope: Scope,
  embedder: string,
  { conversationIds, after, through }: { conversationIds: readonly string[]; after: number; through: number },
): Promise<ConversationVectors[]> {
  const rows = await db.of(scope).$queryRaw<{ conversationId: string; packed: Uint8Array; dimension: number }[]>`
    SELECT v.conversation_id AS "conversationId", min(vector_dims(v.embedding)) AS dimension,
           string_agg(int4send(v.root_seq) || int4send(v.seq) || halfvec_send(v.embedding), ''::bytea) AS packed
    FROM turn_vector v
    WHERE v.conversation_id = ANY (${conversationIds}::text[]) AND v.embedder = ${embedder}::text
      AND v.root_seq > ${after}::integer AND v.root_seq <= ${through}::integer
    GROUP BY v.conversation_id`
  return rows.map(({ conversationId, packed, dimension }) => {
    // Two integers, then the vector.
    const bytes = 8 + HALVES_HEADER + 2 * dimension
    const count = packed.length / bytes
    const positions = new Int32Array(count)
    const seqs = new Int32Array(count)
    const vectors = new Float32Array(count * dimension)
    const halves = { from: packed, to: vectors, dimension }
    const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
    for (let i = 0, at = 0; i < count; i++) {
      positions[i] = view.getInt32(at)
      seqs[i] = view.getInt32(at + 4)
      readHalves(halves, at + 8 + HALVES_HEADER, i * dimension)
      at += bytes
    }
    return { conversationId, count, positions, seqs, vectors }
  })
}

/** The seq of each conversation's newest entry, by conversation. Unknown conversations have no key. */
export async function readLastSeqs(
  db: Db,
  scope: Scope,
  conversationIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .of(scope)
    .journal.findMany({
      where: { conversationId: { in: [...conversationIds] } },
      select: { conversationId: true, lastSeq: true },
    })
  return new Map(rows.map(({ conversationId, lastSeq }) => [conversationId, lastSeq]))
}
