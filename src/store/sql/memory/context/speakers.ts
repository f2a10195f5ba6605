// Reads the display names of the speakers in a context. Also counts the participants, because messages need names only
// if several participants must be distinguished.

import { readOf, type Read } from '../../../db/read.ts'
import { raw, sql } from '../../kernel/sql.ts'

export type Speakers = {
  /** The requested actors who are or were participants. `displayName` is null if not set. */
  participants: { actor: string; displayName: string | null }[]
  /**
   * Number of current and former participants, without `as` and without tools; if `as` is null, number of humans. At
   * most 2: counting stops there.
   */
  otherCount: number
}

/** Maximum number of participants that are read if no actors are requested. */
const MAX_SPEAKERS = 100

const STATEMENT = sql`
  SELECT coalesce((SELECT json_agg(json_build_object('actor', p.actor, 'displayName', p.display_name))
                   FROM (SELECT p.actor, p.display_name FROM participant p
                         WHERE p.conversation_id = c.id AND ($3::text[] IS NULL OR p.actor = ANY ($3::text[]))
                         LIMIT CASE WHEN $3::text[] IS NULL THEN ${raw(String(MAX_SPEAKERS))} END) p), '[]') AS participants,
         (SELECT count(*)::integer FROM (
            SELECT FROM participant p
            WHERE p.conversation_id = c.id AND p.kind <> 'TOOL'
              AND CASE WHEN $4::text IS NULL THEN p.kind = 'HUMAN' ELSE p.actor <> $4::text END
            LIMIT 2) o) AS "otherCount"
  FROM conversation c WHERE c.tenant = $1::text AND c.id = $2::text`.text

/**
 * The speakers, by the primary key of participant. Uses pg's named statements, because every context runs this read in a
 * batch with others (`npm run bench -- context`).
 * @param actors null for any MAX_SPEAKERS of the participants
 * @param as the actor who gets the context; null for none
 */
export const speakersRead = (
  tenant: string,
  conversationId: string,
  actors: readonly string[] | null,
  as: string | null,
): Read<Speakers> =>
  readOf(
    { name: 'read-speakers', text: STATEMENT, values: [tenant, conversationId, actors, as] },
    ([row]: Speakers[]) => row ?? { participants: [], otherCount: 0 },
  )
