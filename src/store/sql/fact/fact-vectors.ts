// Vectors of facts: which facts an embedder has yet to read, keeping what it made, reading it again. A fact that it has
// read says so (fact.embedded_by), whether or not it has a vector since.

import type { Pool } from 'pg'
import { vectorOf, vectorsParameter } from '../../vector.ts'

/** What is embedded of a fact. */
export type EmbeddableFact = {
  id: string
  subject: string
  predicate: string
  object: string
  /** Whether it is to have vectors and has none: superseded ones need none. */
  isWanting: boolean
}

const COLUMNS = `
  f.id, f.subject, f.predicate, f.object, f.superseded_at IS NULL AND NOT EXISTS (
    SELECT FROM fact_vector x WHERE x.fact_id = f.id AND x.embedder = $1::text) AS "isWanting"`

const arm = (condition: string) => `(SELECT ${COLUMNS} FROM fact f WHERE f.embedded_by ${condition} LIMIT $2::integer)`

/** Up to `limit` facts of any tenant that the embedder did not read last, in no order. By the index fact_embedded. */
export async function findUnembeddedFacts(pool: Pool, embedder: string, limit: number): Promise<EmbeddableFact[]> {
  const { rows } = await pool.query<EmbeddableFact>({
    name: 'embed-find-facts',
    // What IS DISTINCT FROM says, as the index can serve it.
    text: `${arm('IS NULL')} UNION ALL ${arm('< $1::text')} UNION ALL ${arm('> $1::text')} LIMIT $2::integer`,
    values: [embedder, limit],
  })
  return rows
}

/** Those of the facts that the embedder did not read last, in no order. By primary key. */
export async function readUnembeddedFacts(
  pool: Pool,
  embedder: string,
  ids: readonly string[],
): Promise<EmbeddableFact[]> {
  const { rows } = await pool.query<EmbeddableFact>({
    name: 'embed-read-facts',
    text: `SELECT ${COLUMNS} FROM fact f WHERE f.id = ANY ($2::text[]) AND f.embedded_by IS DISTINCT FROM $1::text`,
    values: [embedder, ids],
  })
  return rows
}

/** Of one dimension, that of the embedder; zeros for what has no direction. */
type FactVectors = { id: string; object: Float32Array; sentence: Float32Array }

/**
 * Notes that the embedder has read the facts, and keeps what it made of them; how many are noted. A fact that has its
 * vectors keeps them. What somebody else writes at this moment is passed over, for it to be found again, and so is all
 * where the embedder was given up: nobody waits for anybody here.
 */
export async function writeFactVectors(
  pool: Pool,
  embedder: string,
  ids: readonly string[],
  vectors: readonly FactVectors[],
): Promise<number> {
  const { rowCount } = await pool.query({
    name: 'embed-write-facts',
    text: `
      WITH model AS MATERIALIZED (
        SELECT e.name FROM embedder e WHERE e.name = $1::text FOR KEY SHARE
      ), mine AS MATERIALIZED (
        SELECT f.id FROM fact f, model WHERE f.id = ANY ($2::text[]) ORDER BY f.id FOR NO KEY UPDATE OF f SKIP LOCKED
      ), kept AS (
        INSERT INTO fact_vector (fact_id, embedder, object, sentence)
        SELECT a.id, $1::text, ($4::real[])[(2 * a.n - 2) * $5::integer + 1 : (2 * a.n - 1) * $5::integer]::vector,
               ($4::real[])[(2 * a.n - 1) * $5::integer + 1 : 2 * a.n * $5::integer]::vector
        FROM unnest($3::text[]) WITH ORDINALITY AS a(id, n)
        WHERE a.id IN (SELECT id FROM mine)
        ON CONFLICT DO NOTHING
      )
      UPDATE fact f SET embedded_by = $1::text FROM mine WHERE f.id = mine.id`,
    values: [
      embedder,
      ids,
      vectors.map(({ id }) => id),
      vectorsParameter(vectors.flatMap(({ object, sentence }) => [object, sentence])),
      vectors[0]?.object.length ?? 0,
    ],
  })
  return rowCount ?? 0
}

/** The embedder's vectors of the facts' objects, by id; who has none has no key. By primary key. */
export async function readObjectVectors(
  pool: Pool,
  embedder: string,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { rows } = await pool.query<{ id: string; object: Buffer }>({
    name: 'embed-read-objects',
    text: `SELECT x.fact_id AS id, vector_send(x.object) AS object
           FROM fact_vector x WHERE x.fact_id = ANY ($2::text[]) AND x.embedder = $1::text`,
    values: [embedder, ids],
  })
  return new Map(rows.map(({ id, object }) => [id, vectorOf(object)]))
}
