// Reads the data of the fact audit: counts of the facts that a viewer sees, and a sample of them.

import type { Db } from '../../../db/db.ts'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'
import { factVisible, fromVisibleSources } from '../../kernel/visible.ts'
import type { Viewer } from '../../../db/scope.ts'

type FactCounts = {
  active: number
  superseded: number
  /** Number of active facts that no recall or context has returned. */
  neverRecalled: number
  /** Number of assertions of these facts by sources that the viewer sees, not counting one assertion of each fact. */
  exactDuplicatesSkipped: number
}

/** Counts the facts that the viewer sees. Reads all facts of the tenant and their sources. */
export async function countFacts(db: Db, { tenant, actor }: Viewer): Promise<FactCounts> {
  const rows = await db.of(tenant).$queryRaw<FactCounts[]>`
      SELECT count(*) FILTER (WHERE f.superseded_at IS NULL)::integer AS active,
             count(*) FILTER (WHERE f.superseded_at IS NOT NULL)::integer AS superseded,
             count(*) FILTER (WHERE f.superseded_at IS NULL AND f.recalled_at IS NULL)::integer AS "neverRecalled",
             coalesce(sum(greatest(a.assertions - 1, 0)), 0)::double precision AS "exactDuplicatesSkipped"
      FROM fact f
      CROSS JOIN LATERAL (SELECT sum(s.assertions) AS assertions ${fromVisibleSources({ tenant, actor })}) a
      WHERE ${factVisible({ tenant, actor })}`
  return rows[0]!
}

/** Ids of users with active facts that the viewer sees, at most `limit`, ordered by newest fact, newest first. */
export async function readUsersWithFacts(db: Db, { tenant, actor }: Viewer, limit: number): Promise<string[]> {
  const rows = await db.of(tenant).$queryRaw<{ user: string }[]>`
      SELECT f.user_id AS user FROM fact f
      WHERE f.user_id IS NOT NULL AND f.superseded_at IS NULL AND ${factVisible({ tenant, actor })}
      GROUP BY f.user_id ORDER BY max(f.created_at) DESC, f.user_id LIMIT ${limit}::integer`
  return rows.map(({ user }) => user)
}

/** The newest active facts about a user that the viewer sees, at most `limit`. Uses the index fact_user. */
export const readFactsToAudit = (
  db: Db,
  { tenant, actor }: Viewer,
  userId: string,
  limit: number,
): Promise<FactRow[]> =>
  db.of(tenant).$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f
    WHERE f.user_id = ${userId}::text AND f.superseded_at IS NULL AND ${factVisible({ tenant, actor })}
    ORDER BY f.created_at DESC, f.id DESC LIMIT ${limit}::integer`
