// Finds the facts whose reconciliation is due, reads the facts that they are compared with, and marks them as compared.
// A set contains the facts about one user, or about no user in one conversation, with equal visibility; the facts with
// neither a user nor a conversation are one set for each visibility, too. Used by jobs, so not limited to a view.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Subject } from '../../../jobs/job-queue.ts'
import { empty, raw, sql, type Sql } from '../../kernel/sql.ts'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'

/** The user of a set, its conversation, or an empty text. */
const KEY = raw(`coalesce(f.user_id, f.conversation_id, '')`)
const DUE = raw('f.superseded_at IS NULL AND f.reconciled_at IS NULL')

/** The subjects of the facts, active or not, unordered. Uses the primary key. */
export const readSubjectsOfFacts = (tx: Tx, factIds: readonly string[]): Promise<Subject[]> =>
  tx.$queryRaw<Subject[]>`
    SELECT DISTINCT f.tenant, ${KEY} AS key FROM fact f WHERE f.id = ANY (${factIds}::text[])`

/** The given subjects with due facts. Uses the index fact_unreconciled. */
export const readDueSubjectsAmong = (db: Db, subjects: readonly Subject[]): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT a.tenant, a.key
    FROM unnest(${subjects.map(({ tenant }) => tenant)}::text[], ${subjects.map(({ key }) => key)}::text[]) AS a(tenant, key)
    WHERE EXISTS (SELECT FROM fact f WHERE f.tenant = a.tenant AND ${KEY} = a.key AND ${DUE})`

/** Subjects with due facts after `after`, in order of tenant and key, at most `limit`. Uses the index fact_unreconciled. */
export const readDueSubjects = (db: Db, after: Subject | null, limit: number): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT DISTINCT f.tenant, ${KEY} AS key FROM fact f
    WHERE ${DUE} AND (${after === null} OR (f.tenant, ${KEY}) > (${after?.tenant ?? ''}::text, ${after?.key ?? ''}::text))
    ORDER BY 1, 2 LIMIT ${limit}::integer`

/** The oldest due facts of the subject's first set with due facts, at most `limit`. Uses the index fact_unreconciled. */
export const readDueFacts = (db: Db, { tenant, key }: Subject, limit: number): Promise<FactRow[]> =>
  db.of(tenant).$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f
    WHERE f.tenant = ${tenant}::text AND ${KEY} = ${key}::text AND ${DUE} AND f.visibility = (
      SELECT f.visibility FROM fact f WHERE f.tenant = ${tenant}::text AND ${KEY} = ${key}::text AND ${DUE}
      ORDER BY f.visibility LIMIT 1)
    ORDER BY f.created_at, f.id LIMIT ${limit}::integer`

/** A set of facts: its subject and the key of its visibility. */
export type FactSet = Subject & { visibility: string }

const inSet = ({ tenant, key, visibility }: FactSet): Sql =>
  sql`f.tenant = ${tenant}::text AND ${KEY} = ${key}::text AND f.visibility = ${visibility}::text AND f.superseded_at IS NULL`

/** The distinct predicates of the set's active facts, at most `limit`, in order. Uses the index fact_active. */
export async function readPredicates(db: Db, set: FactSet, limit: number): Promise<string[]> {
  const rows = await db.of(set.tenant).$queryRaw<{ predicate: string }[]>`
    SELECT DISTINCT f.predicate COLLATE "C" AS predicate FROM fact f WHERE ${inSet(set)} ORDER BY 1 LIMIT ${limit}::integer`
  return rows.map(({ predicate }) => predicate)
}

/**
 * The newest active facts of the set, at most `limit`: those with one of the predicates, or all for null. Uses the
 * index fact_active.
 */
export const readFactsOfSet = (
  db: Db,
  set: FactSet,
  predicates: readonly string[] | null,
  limit: number,
): Promise<FactRow[]> =>
  db.of(set.tenant).$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f
    WHERE ${inSet(set)} ${predicates === null ? empty : sql`AND f.predicate = ANY (${predicates}::text[])`}
    ORDER BY f.created_at DESC, f.id DESC LIMIT ${limit}::integer`

/** Marks those of the given facts that are still active as compared. The transaction has locked them. */
export async function markReconciled(tx: Tx, factIds: readonly string[]): Promise<void> {
  if (factIds.length === 0) return
  await tx.$executeRaw`
    UPDATE fact f SET reconciled_at = now() WHERE f.id = ANY (${factIds}::text[]) AND f.superseded_at IS NULL`
}
