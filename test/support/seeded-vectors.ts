// Inserts conversations with many turns and vectors by SQL, which is faster than appending and embedding them.

import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { sql } from './sql.ts'

export type Seeding = {
  tenant: string
  conversationId: string
  turns: number
  embedder: string
  dimension: number
  /** A turn is by "rare" if its seq is a multiple of this number, otherwise by "often". Null: always "often". */
  rareEvery?: number | null
}

/** Inserts the row of an embedder, which vectors reference. */
export const addEmbedder = (pool: Pool, name: string, dimension: number) =>
  sql(pool).query('INSERT INTO embedder (name, dimension) VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, dimension])

/** Creates a conversation with turns of seq 1 to `turns`, each with a unit vector derived from a hash of its seq. */
export async function seedConversation(pool: Pool, seeding: Seeding): Promise<void> {
  const { tenant, conversationId, turns, embedder, dimension, rareEvery = null } = seeding
  await sql(pool).query(`INSERT INTO conversation (id, tenant, owner) VALUES ($1, $2, 'owner')`, [
    conversationId,
    tenant,
  ])
  await sql(pool).query('INSERT INTO journal (conversation_id, tenant, last_seq, turn_count) VALUES ($1, $2, $3, $3)', [
    conversationId,
    tenant,
    turns,
  ])
  await sql(pool).query(
    `INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count, terms, tenant)
     SELECT $1::text || '-' || i, $1::text, i, i, CASE WHEN i % $3::integer = 0 THEN 'rare' ELSE 'often' END, 'USER',
            'COMMITTED', '', 0, '{}', $4
     FROM generate_series(1, $2::integer) i`,
    [conversationId, turns, rareEvery, tenant],
  )
  await addEmbedder(pool, embedder, dimension)
  await sql(pool).query(
    `INSERT INTO turn_vector (embedder, conversation_id, tenant, root_seq, seq, embedding)
     SELECT $3::text, $1::text, $5::text, i, i, l2_normalize(v.components::real[]::vector)::halfvec
     FROM generate_series(1, $2::integer) i
     CROSS JOIN LATERAL (SELECT array_agg(hashint8extended(i * 1000::bigint + d, hashtext($1::text)) / 1e19)
                         FROM generate_series(1, $4::integer) d) v(components)`,
    [conversationId, turns, embedder, dimension, tenant],
  )
}
