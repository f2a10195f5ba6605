// Reads user profiles: one for each visibility set of facts about a user. A viewer sees a profile only if the viewer
// sees all facts that it was made from.

import type { Db } from '../../../db/db.ts'
import { factVisible } from '../../kernel/visible.ts'
import { named, sql } from '../../kernel/sql.ts'
import type { Viewer } from '../../../db/scope.ts'

export type ProfileOfSet = {
  userId: string
  /** Key of the visibility set (domain/memory/fact/write.ts). */
  visibility: string
  content: string
  tokenCount: number
  madeBy: string
  madeOf: string[]
  updatedAt: Date
}

/**
 * The users' profiles that all of the viewers see, which are of one tenant: at most `limit` for each user, the most
 * recently changed first. Uses the primary keys of user_profile, participant and fact; split_part is not leakproof, so
 * it is computed before the policy of participant applies. Rows of MEMBERS conversations without the viewer are skipped
 * before any fact is read.
 */
export function readProfiles(
  db: Db,
  [viewer, reader = viewer]: readonly [Viewer, Viewer?],
  users: readonly string[],
  limit: number,
): Promise<ProfileOfSet[]> {
  const isShared = reader !== viewer
  return db.of(viewer.tenant).$queryRaw<ProfileOfSet[]>`
    ${named(isShared ? 'read-shared-profiles' : 'read-profiles')}
    SELECT u.id AS "userId", p.visibility, p.content, p.token_count AS "tokenCount", p.made_by AS "madeBy",
           p.made_of AS "madeOf", p.updated_at AS "updatedAt"
    FROM unnest(${users}::text[]) AS u(id)
    CROSS JOIN LATERAL (
      SELECT p.* FROM (
        SELECT p.* FROM (
          SELECT p.*, split_part(p.visibility, ' ', 1) AS conversation_id FROM user_profile p
          WHERE p.tenant = ${viewer.tenant}::text AND p.user_id = u.id OFFSET 0) p
        WHERE NOT starts_with(p.visibility, 'conv_') OR EXISTS (
          SELECT FROM public.participant m WHERE m.conversation_id = p.conversation_id AND m.actor = ${viewer.actor}::text)
        ORDER BY p.updated_at DESC, p.visibility OFFSET 0) p
      WHERE NOT EXISTS (
        SELECT FROM unnest(p.made_of) AS m(id) LEFT JOIN fact f ON f.id = m.id
        WHERE f.id IS NULL OR NOT ${factVisible(viewer)} OR NOT ${isShared ? factVisible(reader) : sql`true`})
      ORDER BY p.updated_at DESC, p.visibility LIMIT ${limit}::integer) p`
}
