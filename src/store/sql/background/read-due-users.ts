// Finds users whose profiles are due for a refresh, by their number of turns and of changed facts since the last one. Used
// by jobs, so not limited to a tenant.

import { SYSTEM } from '../../scope.ts'
import type { Db } from '../../db.ts'
import { sql } from '../sql.ts'
import type { Subject } from '../../job-queue.ts'

/**
 * Whether a multiple of `every` is above the mark and at most the count, as in `runsDue` in
 * domain/automatic-thresholds.ts, or facts about the user changed.
 */
const due = (every: number) => sql`(
  u.turns / ${every}::bigint > u.profiled_turns / ${every}::bigint OR u.fact_changes > u.profiled_changes)`

/** The given users who are due. Uses the primary key. */
export async function readDueUsersAmong(db: Db, users: readonly Subject[], every: number): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<Subject[]>`SELECT u.tenant, u.user_id AS key
           FROM unnest(${users.map(({ tenant }) => tenant)}::text[], ${users.map(({ key }) => key)}::text[]) AS a(tenant, key)
           JOIN user_progress u ON u.tenant = a.tenant AND u.user_id = a.key
           WHERE ${due(every)}`
  return rows
}

/** Due users after `after` in order of tenant and id, at most `limit`. Reads all users. */
export async function readDueUsers(db: Db, after: Subject | null, limit: number, every: number): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<Subject[]>`SELECT u.tenant, u.user_id AS key FROM user_progress u
           WHERE (u.tenant, u.user_id) > (${after?.tenant ?? ''}::text, ${after?.key ?? ''}::text) AND ${due(every)}
           ORDER BY u.tenant, u.user_id LIMIT ${limit}::integer`
  return rows
}
