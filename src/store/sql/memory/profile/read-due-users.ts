// Finds users with a profile that is due for a refresh, by the number of turns and by changed facts since the last one.
// Used by jobs, so not limited to a tenant.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { sql } from '../../kernel/sql.ts'
import type { Subject } from '../../../jobs/job-queue.ts'

/**
 * Whether a multiple of `every` is above the mark of user `u` and at most the count, as in `runsDue` in
 * domain/kernel/automatic-thresholds.ts.
 */
const due = (every: number) => sql`u.turns / ${every}::bigint > u.profiled_turns / ${every}::bigint`

/** The given users who are due. Uses the primary keys. */
export async function readDueUsersAmong(db: Db, users: readonly Subject[], every: number): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<Subject[]>`SELECT a.tenant, a.key
           FROM unnest(${users.map(({ tenant }) => tenant)}::text[], ${users.map(({ key }) => key)}::text[]) AS a(tenant, key)
           WHERE EXISTS (SELECT FROM user_progress u WHERE u.tenant = a.tenant AND u.user_id = a.key AND ${due(every)})
              OR EXISTS (SELECT FROM profile_progress p
                         WHERE p.tenant = a.tenant AND p.user_id = a.key AND p.fact_changes > p.profiled_changes)`
  return rows
}

/**
 * Due users after `after` in order of tenant and id, at most `limit`. Reads the progress of all users, and the index
 * profile_progress_due.
 */
export async function readDueUsers(db: Db, after: Subject | null, limit: number, every: number): Promise<Subject[]> {
  const from = sql`(${after?.tenant ?? ''}::text, ${after?.key ?? ''}::text)`
  const rows = await db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT u.tenant, u.user_id AS key FROM user_progress u WHERE (u.tenant, u.user_id) > ${from} AND ${due(every)}
    UNION
    SELECT p.tenant, p.user_id FROM profile_progress p
    WHERE (p.tenant, p.user_id) > ${from} AND p.fact_changes > p.profiled_changes
    ORDER BY 1, 2 LIMIT ${limit}::integer`
  return rows
}
