// Reads current and former participants of conversations, by the primary key of participant. A named statement of pg:
// each recall and each subscription reads them (`npm run bench -- recall`, `fan-out`).

import type { Pool } from 'pg'
import type { HistoryVisibility, ParticipantKind } from '../../generated/enums.ts'

export type ParticipantRow = {
  conversationId: string
  actor: string
  kind: ParticipantKind
  displayName: string | null
  history: HistoryVisibility
  joinedAt: Date
  leftAt: Date | null
  lastReadSeq: number
  /** Seqs at which the view opens, closes, opens again …, ascending. */
  windows: number[]
  /** Whether any turn's audience has ever included the participant. */
  addressed: boolean
}

/**
 * Participants of the tenant's conversations, ordered by conversation, time of joining, and actor. If `actors` is not
 * null, only these actors.
 */
export async function readParticipants(
  pool: Pool,
  tenant: string,
  conversationIds: readonly string[],
  actors: readonly string[] | null = null,
): Promise<ParticipantRow[]> {
  const { rows } = await pool.query<ParticipantRow>({
    name: 'read-participants',
    text: `
      SELECT p.conversation_id AS "conversationId", p.actor, p.kind, p.display_name AS "displayName", p.history,
             p.joined_at AS "joinedAt", p.left_at AS "leftAt", p.last_read_seq AS "lastReadSeq", p.windows, p.addressed
      FROM participant p JOIN conversation c ON c.id = p.conversation_id AND c.tenant = $1::text
      WHERE p.conversation_id = ANY ($2::text[]) AND ($3::text[] IS NULL OR p.actor = ANY ($3::text[]))
      ORDER BY p.conversation_id, p.joined_at, p.actor`,
    values: [tenant, conversationIds, actors],
  })
  return rows
}
