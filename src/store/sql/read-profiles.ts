// Profiles of users, as far as a viewer may have them: all that one was made of must be there, and in their view. By
// the primary keys of user_profile and fact.

import type { Pool } from 'pg'
import { factVisible } from './visible.ts'

export type ProfileRow = { userId: string; content: string; tokenCount: number; updatedAt: Date }

/** Those of the users that have one, in no order. */
export async function readProfiles(
  pool: Pool, viewer: { tenant: string; actor: string }, userIds: readonly string[],
): Promise<ProfileRow[]> {
  const { rows } = await pool.query<ProfileRow>({
    name: 'read-profiles',
    text: `
      SELECT p.user_id AS "userId", p.content, p.token_count AS "tokenCount", p.updated_at AS "updatedAt"
      FROM user_profile p
      WHERE p.tenant = $1::text AND p.user_id = ANY ($3::text[])
        AND NOT EXISTS (
          SELECT FROM unnest(p.made_of) AS m(id)
          WHERE NOT EXISTS (SELECT FROM fact f WHERE f.id = m.id AND ${factVisible('f', '$1', '$2')}))`,
    values: [viewer.tenant, viewer.actor, userIds],
  })
  return rows
}
