// How near turns are to a query, exactly: all of some conversations, or just those named. By the key of turn_vector
// (conversation_id, embedder, root_seq, seq), blind to views.

import type { Pool } from 'pg'
import { placeKey, type Place } from '../../vector-search.ts'
import { vectorParameter } from '../../vector.ts'

/** Of every turn of those conversations that has a vector: by conversation, then seq. A conversation's come as one value of 8 bytes a turn. */
export async function scanVectors(
  pool: Pool,
  embedder: string,
  conversationIds: readonly string[],
  query: Float32Array,
): Promise<Map<string, Map<number, number>>> {
  const { rows } = await pool.query<{ conversationId: string; packed: Buffer }>({
    name: 'scan-vectors',
    text: `
      SELECT v.conversation_id AS "conversationId",
             string_agg(
               int4send(v.seq) || float4send((-(v.embedding <#> (SELECT $3::vector)))::real), ''::bytea) AS packed
      FROM turn_vector v
      WHERE v.conversation_id = ANY ($2::text[]) AND v.embedder = $1::text
      GROUP BY v.conversation_id`,
    values: [embedder, conversationIds, vectorParameter(query)],
  })
  return new Map(
    rows.map(({ conversationId, packed }) => {
      const similarities = new Map<number, number>()
      for (let at = 0; at < packed.length; at += 8) similarities.set(packed.readInt32BE(at), packed.readFloatBE(at + 4))
      return [conversationId, similarities]
    }),
  )
}

/** Of just those turns, by `placeKey`. */
export async function compareVectors(
  pool: Pool,
  embedder: string,
  places: readonly Place[],
  query: Float32Array,
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ conversationId: string; seq: number; similarity: number }>({
    name: 'compare-vectors',
    text: `
      SELECT a.conversation_id AS "conversationId", a.seq, v.similarity
      FROM unnest($2::text[], $3::integer[], $4::integer[]) AS a(conversation_id, root_seq, seq)
      CROSS JOIN LATERAL (
        SELECT -(v.embedding <#> (SELECT $5::vector)) AS similarity FROM turn_vector v
        WHERE v.conversation_id = a.conversation_id AND v.embedder = $1::text AND v.root_seq = a.root_seq AND v.seq = a.seq
        LIMIT 1) v`,
    values: [
      embedder,
      places.map(({ conversationId }) => conversationId),
      places.map(({ rootSeq }) => rootSeq),
      places.map(({ seq }) => seq),
      vectorParameter(query),
    ],
  })
  return new Map(rows.map((row) => [placeKey(row), row.similarity]))
}
