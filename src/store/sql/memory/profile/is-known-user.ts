// Checks whether a user is known to a viewer. Uses the indexes participant_actor and fact_user.

import type { Db } from '../../../db/db.ts'
import { factVisible } from '../../kernel/visible.ts'

/**
 * Whether the user is a participant of a conversation of the tenant, or a fact that the viewer sees is about the user.
 */
export async function isKnownUser(db: Db, viewer: { tenant: string; actor: string }, userId: string): Promise<boolean> {
  const rows = await db.of(viewer.tenant).$queryRaw<{ isKnown: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM participant p JOIN conversation c ON c.id = p.conversation_id AND c.tenant = ${viewer.tenant}::text
      WHERE p.actor = ${userId}::text)
      OR EXISTS (SELECT FROM fact f WHERE f.user_id = ${userId}::text AND ${factVisible(viewer)}) AS "isKnown"`
  return rows[0]!.isKnown
}
