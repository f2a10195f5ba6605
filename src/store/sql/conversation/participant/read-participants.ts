// Reads current and former participants of conversations, by the primary key of participant. Uses pg's named
// statements, because every recall and every subscription runs one (`npm run bench -- recall`, `fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'
import type { HistoryVisibility, ParticipantKind, Respond } from '../../../generated/enums.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { participantKey } from '../../turn/count-turns.ts'
import { VIEWER, views } from '../../kernel/visible.ts'

export type ParticipantRow = {
  conversationId: string
  actor: string
  kind: ParticipantKind
  displayName: string | null
  historyVisibility: HistoryVisibility
  administrator: boolean
  joinedAt: Date
  leftAt: Date | null
  lastReadSeq: number
  /** Seqs at which the view opens, closes, opens again …, ascending. */
  windows: number[]
  /** Whether any turn's audience has ever included the participant. */
  addressed: boolean
  /** Turns that wake up the participant. */
  respond: Respond
}

export const PARTICIPANT_COLUMNS = raw(`
  p.conversation_id AS "conversationId", p.actor, p.kind, p.display_name AS "displayName",
  p.history AS "historyVisibility", p.administrator, p.joined_at AS "joinedAt", p.left_at AS "leftAt", p.last_read_seq AS "lastReadSeq",
  p.windows, p.addressed, p.respond`)

/** Selects the participants of the conversations `c (id)`, ordered by conversation, time of joining, and actor. */
const statement = (conversations: Sql) =>
  sql`
  SELECT ${PARTICIPANT_COLUMNS}
  FROM (${conversations}) c JOIN participant p ON p.conversation_id = c.id
  WHERE $4::text[] IS NULL OR p.actor = ANY ($4::text[])
  ORDER BY p.conversation_id, p.joined_at, p.actor`.text

const IDS = raw('c.id = ANY ($3::text[])')
const VISIBLE = { name: 'read-participants', text: statement(views(VIEWER, IDS)) }
const ALL = {
  name: 'read-all-participants',
  text: statement(sql`SELECT c.id FROM conversation c WHERE c.tenant = $1::text AND $2::text IS NULL AND ${IDS}`),
}

/**
 * Participants of the conversations that the viewer sees, ordered by conversation, time of joining, and actor. A null
 * actor, for feeds and jobs, sees every conversation of the tenant. If `actors` is not null, only these actors.
 */
export async function readParticipants(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string | null },
  conversationIds: readonly string[],
  actors: readonly string[] | null = null,
): Promise<ParticipantRow[]> {
  const { rows } = await pool.query<ParticipantRow>({
    scope: tenant,
    ...(actor === null ? ALL : VISIBLE),
    values: [tenant, actor, conversationIds, actors],
  })
  return rows
}

const byKey = (columns: Sql) =>
  sql`
  SELECT ${columns}
  FROM unnest($3::text[], $4::text[]) AS k(conversation_id, actor)
  CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = k.conversation_id'))}) v
  JOIN participant p ON p.conversation_id = v.id AND p.actor = k.actor`.text
const BY_KEY = byKey(PARTICIPANT_COLUMNS)
// Feeds keep the rows of all participants in memory, so metadata and agent settings, which may be large, are read
// separately.
const DETAILS_BY_KEY = byKey(raw('p.conversation_id AS "conversationId", p.actor, p.metadata, p.agent'))

/** Identifies a participant. */
export type ParticipantKey = { conversationId: string; actor: string }

/** The participants with these keys in conversations that the viewer sees, unordered. */
export async function readParticipantsByKey(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  keys: readonly ParticipantKey[],
): Promise<ParticipantRow[]> {
  const { rows } = await pool.query<ParticipantRow>({
    scope: viewer.tenant,
    name: 'read-participants-by-key',
    text: BY_KEY,
    values: [
      viewer.tenant,
      viewer.actor,
      keys.map(({ conversationId }) => conversationId),
      keys.map(({ actor }) => actor),
    ],
  })
  return rows
}

/** `agent`: settings with which the server runs the participant; null if it does not run the participant. */
export type ParticipantDetails = { metadata: Record<string, unknown>; agent: Record<string, unknown> | null }

/** The details of the participants with these keys in conversations that the viewer sees, by `participantKey`. */
export async function readParticipantDetails(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  keys: readonly ParticipantKey[],
): Promise<Map<string, ParticipantDetails>> {
  const { rows } = await pool.query<ParticipantKey & ParticipantDetails>({
    scope: viewer.tenant,
    name: 'read-participant-details',
    text: DETAILS_BY_KEY,
    values: [
      viewer.tenant,
      viewer.actor,
      keys.map(({ conversationId }) => conversationId),
      keys.map(({ actor }) => actor),
    ],
  })
  return new Map(
    rows.map(({ conversationId, actor, metadata, agent }) => [
      participantKey(conversationId, actor),
      { metadata, agent },
    ]),
  )
}
