// Users who have said enough since something that follows was done about them. For jobs, so in any tenant.

import type { Pool } from 'pg'
import type { Subject } from '../../job-queue.ts'

/** What follows, by the column that says up to which turn it was done. */
export type UserMark = 'profiled_turns' | 'reconciled_turns'

/** Whether a multiple of `every` lies between the mark and the count; as src/domain/job/automatic.ts says it. */
const due = (mark: UserMark, every: string) => `u.turns / ${every}::bigint > u.${mark} / ${every}::bigint`

/** Those of the users who are due. By primary key. */
export async function readDueUsersAmong(
  pool: Pool,
  mark: UserMark,
  users: readonly Subject[],
  every: number,
): Promise<Subject[]> {
  const { rows } = await pool.query<Subject>({
    name: `read-due-users-among-${mark}`,
    text: `SELECT u.tenant, u.user_id AS key
           FROM unnest($1::text[], $2::text[]) AS a(tenant, key)
           JOIN user_progress u ON u.tenant = a.tenant AND u.user_id = a.key
           WHERE ${due(mark, '$3')}`,
    values: [users.map(({ tenant }) => tenant), users.map(({ key }) => key), every],
  })
  return rows
}

/** Users who are due, after that one in the order of the key, at most `limit`. Reads all users. */
export async function readDueUsers(
  pool: Pool,
  mark: UserMark,
  after: Subject | null,
  limit: number,
  every: number,
): Promise<Subject[]> {
  const { rows } = await pool.query<Subject>({
    name: `read-due-users-${mark}`,
    text: `SELECT u.tenant, u.user_id AS key FROM user_progress u
           WHERE (u.tenant, u.user_id) > ($1::text, $2::text) AND ${due(mark, '$4')}
           ORDER BY u.tenant, u.user_id LIMIT $3::integer`,
    values: [after?.tenant ?? '', after?.key ?? '', limit, every],
  })
  return rows
}
