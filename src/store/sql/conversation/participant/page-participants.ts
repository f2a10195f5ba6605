// Reads pages of the participants of conversations, by the primary key of participant. Sorts all participants of each
// conversation, at most MAX_PARTICIPANTS. Uses pg's named statements, as read-participants.ts does.

import type { Pool } from '../../../db/tenant-pool.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { VIEWER, views } from '../../kernel/visible.ts'
import { PARTICIPANT_COLUMNS, type ParticipantRow } from './read-participants.ts'

/** A position in the list, which is in the order of `joinedAt`, then `actor`. */
export type ParticipantPosition = { joinedAt: Date; actor: string }

const IDS = raw('c.id = ANY ($3::text[])')
const page = (direction: 'ASC' | 'DESC') =>
  sql`
  SELECT p.*
  FROM (${views(VIEWER, IDS)}) c
  CROSS JOIN LATERAL (
    SELECT ${PARTICIPANT_COLUMNS}
    FROM participant p
    WHERE p.conversation_id = c.id
      AND ($4::timestamptz IS NULL OR (p.joined_at, p.actor) > ($4::timestamptz, $5::text))
      AND ($6::timestamptz IS NULL OR (p.joined_at, p.actor) < ($6::timestamptz, $7::text))
    ORDER BY p.joined_at ${raw(direction)}, p.actor ${raw(direction)}
    LIMIT $8::integer) p`.text

const FORWARDS = { name: 'page-participants', text: page('ASC') }
const BACKWARDS = { name: 'page-participants-backwards', text: page('DESC') }

/**
 * The present and former participants of the conversations that the viewer sees: for each conversation, the first
 * `limit` between the positions in the order of the list; if `backwards`, the last `limit` in reverse order.
 */
export async function pageParticipants(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationIds: readonly string[],
  bounds: { after: ParticipantPosition | null; before: ParticipantPosition | null; limit: number; backwards: boolean },
): Promise<ParticipantRow[]> {
  const { after, before, limit, backwards } = bounds
  const { rows } = await pool.query<ParticipantRow>({
    scope: viewer.tenant,
    ...(backwards ? BACKWARDS : FORWARDS),
    values: [
      viewer.tenant,
      viewer.actor,
      conversationIds,
      after?.joinedAt ?? null,
      after?.actor ?? null,
      before?.joinedAt ?? null,
      before?.actor ?? null,
      limit,
    ],
  })
  return rows
}

const COUNT = sql`
  SELECT c.id, (SELECT count(*)::integer FROM participant p WHERE p.conversation_id = c.id) AS count
  FROM (${views(VIEWER, IDS)}) c`.text

/** The number of present and former participants of each conversation that the viewer sees, by conversation. */
export async function countParticipants(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ id: string; count: number }>({
    scope: viewer.tenant,
    name: 'count-participants',
    text: COUNT,
    values: [viewer.tenant, viewer.actor, conversationIds],
  })
  return new Map(rows.map(({ id, count }) => [id, count]))
}
