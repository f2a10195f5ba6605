// Users who have said enough since something that follows was done about them. For jobs, so in any tenant.

import type { Db } from '../../db.ts'
import { raw, sql } from '../sql.ts'
import type { Subject } from '../../job-queue.ts'

/** What follows, by the column that says up to which turn it was done. */
export type UserMark = 'profiled_turns' | 'reconciled_turns'

/** Whether a multiple of `every` lies between the mark and the count; as src/domain/job/automatic.ts says it. */
const due = (mark: UserMark, every: number) => sql`u.turns / ${every}::bigint > u.${raw(mark)} / ${every}::bigint`

/** Those of the users who are due. By primary key. */
export async function readDueUsersAmong(
  db: Db,
  mark: UserMark,
  users: readonly Subject[],
  every: number,
): Promise<Subject[]> {
  const rows = await db.$queryRaw<Subject[]>`SELECT u.tenant, u.user_id AS key
           FROM unnest(${users.map(({ tenant }) => tenant)}::text[], ${users.map(({ key }) => key)}::text[]) AS a(tenant, key)
           JOIN user_progress u ON u.tenant = a.tenant AND u.user_id = a.key
           WHERE ${due(mark, every)}`
  return rows
}

/** Users who are due, after that one in the order of the key, at most `limit`. Reads all users. */
export async function readDueUsers(
  db: Db,
  mark: UserMark,
  after: Subject | null,
  limit: number,
  every: number,
): Promise<Subject[]> {
  const rows = await db.$queryRaw<Subject[]>`SELECT u.tenant, u.user_id AS key FROM user_progress u
           WHERE (u.tenant, u.user_id) > (${after?.tenant ?? ''}::text, ${after?.key ?? ''}::text) AND ${due(mark, every)}
           ORDER BY u.tenant, u.user_id LIMIT ${limit}::integer`
  return rows
}
