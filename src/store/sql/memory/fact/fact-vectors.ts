// Finds the facts that an embedder has to process, and writes and reads the vectors of facts. The column
// fact.embedded_by names the embedder that processed a fact last, whether or not it stored vectors.

import { SYSTEM, type Scope } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { vectorFrom, vectorValue } from '../../../vectors/vector.ts'
import { sql, type Sql } from '../../kernel/sql.ts'

/** A fact to embed. */
export type EmbeddableFact = {
  id: string
  subject: string
  predicate: string
  object: string
  /** Whether the fact is active and has no vectors of the embedder yet. */
  needsVectors: boolean
}

const columns = (embedder: string): Sql => sql`
  f.id, f.subject, f.predicate, f.object, f.superseded_at IS NULL AND NOT EXISTS (
    SELECT FROM fact_vector x WHERE x.fact_id = f.id AND x.embedder = ${embedder}::text) AS "needsVectors"`

/**
 * Up to `limit` facts of any tenant whose `embedded_by` is not this embedder, unordered. Uses the index fact_embedded.
 */
export function findUnembeddedFacts(db: Db, embedder: string, limit: number): Promise<EmbeddableFact[]> {
  // Equivalent to IS DISTINCT FROM, which could not use the index.
  const branch = (condition: Sql) =>
    sql`(SELECT ${columns(embedder)} FROM fact f WHERE f.embedded_by ${condition} LIMIT ${limit}::integer)`
  return db.of(SYSTEM).$queryRaw<EmbeddableFact[]>`
    ${branch(sql`IS NULL`)}
    UNION ALL ${branch(sql`< ${embedder}::text`)}
    UNION ALL ${branch(sql`> ${embedder}::text`)} LIMIT ${limit}::integer`
}

/** The given facts whose `embedded_by` is not this embedder, unordered. Uses the primary key. */
export const readUnembeddedFacts = (
  db: Db,
  scope: Scope,
  embedder: string,
  ids: readonly string[],
): Promise<EmbeddableFact[]> =>
  db.of(scope).$queryRaw<EmbeddableFact[]>`
    SELECT ${columns(embedder)} FROM fact f
    WHERE f.id = ANY (${ids}::text[]) AND f.embedded_by IS DISTINCT FROM ${embedder}::text`

/** Vectors of the embedder's dimension; all zeros for a text that the embedder cannot represent. */
type FactVectors = { id: string; object: Float32Array; sentence: Float32Array }

/**
 * Marks the facts as processed by the embedder and stores their vectors. Returns the number of facts marked. Keeps
 * existing vectors. Skips facts that another transaction has locked; the next findUnembeddedFacts returns them again.
 * Does nothing if the embedder was removed.
 */
export function writeFactVectors(
  db: Db,
  embedder: string,
  ids: readonly string[],
  vectors: readonly FactVectors[],
): Promise<number> {
  const withVectors = vectors.map(({ id }) => id)
  const objects = vectors.map(({ object }) => vectorValue(object))
  const sentences = vectors.map(({ sentence }) => vectorValue(sentence))
  return db.of(SYSTEM).$executeRaw`
    WITH model AS MATERIALIZED (
      SELECT e.name FROM embedder e WHERE e.name = ${embedder}::text FOR KEY SHARE
    ), mine AS MATERIALIZED (
      SELECT f.id, f.tenant FROM fact f, model WHERE f.id = ANY (${ids}::text[]) ORDER BY f.id FOR NO KEY UPDATE OF f SKIP LOCKED
    ), kept AS (
      INSERT INTO fact_vector (fact_id, tenant, embedder, object, sentence)
      SELECT a.id, m.tenant, ${embedder}::text, a.object::vector, a.sentence::vector
      FROM unnest(${withVectors}::text[], ${objects}::text[], ${sentences}::text[]) AS a(id, object, sentence)
      JOIN mine m ON m.id = a.id
      ON CONFLICT DO NOTHING
    )
    UPDATE fact f SET embedded_by = ${embedder}::text FROM mine WHERE f.id = mine.id`
}

/** Number of vectors parsed at once: 100 vectors of 1,536 dimensions take about 20 ms. */
const PARSED_AT_ONCE = 100

/**
 * The embedder's vectors of the facts' objects, by fact id; a fact without vectors has no key. Uses the primary key, in
 * batches, so that parsing does not block the event loop.
 */
export async function readObjectVectors(
  db: Db,
  scope: Scope,
  embedder: string,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>()
  for (let from = 0; from < ids.length; from += PARSED_AT_ONCE) {
    const rows = await db.of(scope).$queryRaw<{ id: string; object: string }[]>`
      SELECT x.fact_id AS id, x.object::text AS object FROM fact_vector x
      WHERE x.fact_id = ANY (${ids.slice(from, from + PARSED_AT_ONCE)}::text[]) AND x.embedder = ${embedder}::text`
    for (const { id, object } of rows) vectors.set(id, vectorFrom(object))
  }
  return vectors
}
