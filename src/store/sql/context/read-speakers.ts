// What speakers are called in a context, and whether they have to be told apart.

import type { Db } from '../../db.ts'

type Speakers = {
  /** Those of the actors who are or were in the conversation. */
  known: { actor: string; displayName: string | null }[]
  /** People whose words would be said to `as`, tools aside; without an `as`, humans. Counted to two. */
  others: number
}

/** By the primary key of participant; a conversation of many is not counted through. */
export async function readSpeakers(
  db: Db,
  tenant: string,
  conversationId: string,
  actors: readonly string[],
  as: string | null,
): Promise<Speakers> {
  const rows = await db.$queryRaw<Speakers[]>`
      SELECT coalesce((SELECT json_agg(json_build_object('actor', p.actor, 'displayName', p.display_name))
                       FROM participant p
                       WHERE p.conversation_id = c.id AND p.actor = ANY (${actors}::text[])), '[]') AS known,
             (SELECT count(*)::integer FROM (
                SELECT FROM participant p
                WHERE p.conversation_id = c.id AND p.kind <> 'TOOL'
                  AND CASE WHEN ${as}::text IS NULL THEN p.kind = 'HUMAN' ELSE p.actor <> ${as}::text END
                LIMIT 2) o) AS others
      FROM conversation c WHERE c.tenant = ${tenant}::text AND c.id = ${conversationId}::text`
  return rows[0] ?? { known: [], others: 0 }
}
