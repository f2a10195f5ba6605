// Reads the display names of the speakers in a context, and whether their messages need names to distinguish them.

import type { Db } from '../../db.ts'
import { named } from '../sql.ts'

type Speakers = {
  /** The actors who are or were participants. */
  known: { actor: string; displayName: string | null }[]
  /** Number of participants other than `as` and tools; without `as`, of humans. Counted up to two. */
  others: number
}

/** The speakers of a conversation, by the primary key of participant. Does not count all participants. */
export async function readSpeakers(
  db: Db,
  tenant: string,
  conversationId: string,
  actors: readonly string[],
  as: string | null,
): Promise<Speakers> {
  const rows = await db.$queryRaw<Speakers[]>`
      ${named('read-speakers')}
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
