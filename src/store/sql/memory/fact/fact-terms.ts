// Reads the facts without terms, which a migration that changes the tokenizer leaves, and writes their terms.

import type { Db } from '../../../db/db.ts'
import { SYSTEM } from '../../../db/scope.ts'

type UnindexedFact = { id: string; tenant: string; subject: string; predicate: string; object: string }

/**
 * At most `limit` facts of any tenant without terms, in order of id. Uses the partial index fact_unindexed, which is
 * empty when every fact has terms.
 */
export const readUnindexedFacts = (db: Db, limit: number): Promise<UnindexedFact[]> =>
  db.of(SYSTEM).$queryRaw<UnindexedFact[]>`
    SELECT f.id, f.tenant, f.subject, f.predicate, f.object FROM fact f
    WHERE f.terms IS NULL ORDER BY f.id LIMIT ${limit}::integer`

/** Writes the terms of facts that have none, and returns their number. Skips facts that another transaction has locked. */
export const writeFactTerms = (db: Db, facts: readonly { id: string; terms: number[] }[]): Promise<number> =>
  db.of(SYSTEM).$executeRaw`
    UPDATE fact f SET terms = x.terms
    FROM jsonb_to_recordset(${JSON.stringify(facts)}::jsonb) AS x(id text, terms integer[])
    WHERE f.id = x.id AND f.id IN (
      SELECT l.id FROM fact l WHERE l.id = ANY (${facts.map(({ id }) => id)}::text[]) AND l.terms IS NULL
      FOR UPDATE SKIP LOCKED)`
