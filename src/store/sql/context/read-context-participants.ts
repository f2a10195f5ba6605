// Reads the display names of the speakers in a context. Also counts the participants, because messages need names only
// if several participants must be distinguished.

import type { Db } from '../../db.ts'
import { named } from '../sql.ts'

type Speakers = {
  /** The given actors who are or were participants. `displayName` is null if not set. */
  participants: { actor: string; displayName: string | null }[]
  /**
   * Number of current and former participants, without `as` and without tools; if `as` is null, number of humans. At
   * most 2: counting stops there.
   */
  otherCount: number
}

/** Reads the speakers. `as` is the actor who gets the context; null for none. Uses the primary key of participant. */
export async function readContextParticipants(
  db: Db,
  tenant: string,
  conversationId: string,
  actors: readonly string[],
  as: string | null,
): Promise<Speakers> {
  const rows = await db.of(tenant).$queryRaw<Speakers[]>`
      ${named('read-context-participants')}
      SELECT coalesce((SELECT json_agg(json_build_object('actor', p.actor, 'displayName', p.display_name))
                       FROM participant p
                       WHERE p.conversation_id = c.id AND p.actor = ANY (${actors}::text[])), '[]') AS participants,
             (SELECT count(*)::integer FROM (
                SELECT FROM participant p
                WHERE p.conversation_id = c.id AND p.kind <> 'TOOL'
                  AND CASE WHEN ${as}::text IS NULL THEN p.kind = 'HUMAN' ELSE p.actor <> ${as}::text END
                LIMIT 2) o) AS "otherCount"
      FROM conversation c WHERE c.tenant = ${tenant}::text AND c.id = ${conversationId}::text`
  return rows[0] ?? { participants: [], otherCount: 0 }
}
