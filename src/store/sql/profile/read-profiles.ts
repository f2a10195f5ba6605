// Reads user profiles. A viewer sees a profile only if the viewer sees all facts that it was made from. Uses the
// primary keys of user_profile and fact.

import type { Db } from '../../db.ts'
import { factVisible } from '../visible.ts'
import { named } from '../sql.ts'

export type UserProfileRow = { userId: string; content: string; tokenCount: number; updatedAt: Date }

/** The users' profiles that the viewer sees, in no order. */
export async function readProfiles(
  db: Db,
  viewer: { tenant: string; actor: string },
  users: readonly string[],
): Promise<UserProfileRow[]> {
  const rows = await db.of(viewer.tenant).$queryRaw<UserProfileRow[]>`
      ${named('read-profiles')}
      SELECT p.user_id AS "userId", p.content, p.token_count AS "tokenCount", p.updated_at AS "updatedAt"
      FROM user_profile p
      WHERE p.tenant = ${viewer.tenant}::text AND p.user_id = ANY (${users}::text[]) AND cardinality(p.made_of) = (
        SELECT count(*) FROM fact f WHERE f.id = ANY (p.made_of) AND ${factVisible(viewer)})`
  return rows
}
