// Counts the turns of a view. For a view of the whole conversation, adds the journal's counters and the number of turns
// with an audience that the viewer sees (index turn_private). For any other view, counts the turns one by one. Uses
// pg's named statements, because every recall and every list counts turns (`npm run bench -- recall`, `http`).

import type { Pool } from '../../db/tenant-pool.ts'
import { raw, sql, type Sql } from '../kernel/sql.ts'
import { unreadTurns } from './unread.ts'
import { newest, VIEWER, views, visible, seesAllPublic } from '../kernel/visible.ts'

export type TurnCount = { turnCount: number; tokenCount: number }

const counted = (where: Sql) => sql`
  SELECT count(*)::integer AS turns, coalesce(sum(t.token_count), 0)::bigint AS tokens
  FROM turn t
  WHERE t.conversation_id = v.id AND t.status = 'COMMITTED' AND ${where} AND ${visible()} AND ${newest()}`

const COUNT_TURNS = sql`
  SELECT v.id,
         CASE WHEN ${seesAllPublic()} THEN j.turn_count + private.turns ELSE windowed.turns END AS "turnCount",
         CASE WHEN ${seesAllPublic()} THEN j.token_count + private.tokens ELSE windowed.tokens END AS "tokenCount"
  FROM (${views(VIEWER, raw('c.id = ANY ($3::text[])'))}) v
  JOIN journal j ON j.conversation_id = v.id
  CROSS JOIN LATERAL (${counted(sql`${seesAllPublic()} AND t.audience IS NOT NULL`)}) private
  CROSS JOIN LATERAL (${counted(sql`NOT ${seesAllPublic()}`)}) windowed`.text

/** Number and token count of committed turns that the viewer sees, by conversation. Counts newest versions only. */
export async function countTurns(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationIds: readonly string[],
): Promise<Map<string, TurnCount>> {
  const { rows } = await pool.query<{ id: string } & TurnCount>({
    scope: viewer.tenant,
    name: 'count-turns',
    text: COUNT_TURNS,
    values: [viewer.tenant, viewer.actor, conversationIds],
  })
  return new Map(rows.map(({ id, turnCount, tokenCount }) => [id, { turnCount, tokenCount }]))
}

/** Map key of a participant. */
export const participantKey = (conversationId: string, actor: string) => `${conversationId} ${actor}`

const COUNT_UNREAD = sql`
  SELECT p.conversation_id AS "conversationId", p.actor, u.unread
  FROM unnest($3::text[], $4::text[]) AS a(conversation_id, actor)
  JOIN participant p ON p.conversation_id = a.conversation_id AND p.actor = a.actor
  CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = a.conversation_id'))}) v
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS unread FROM (
    SELECT FROM ${unreadTurns()} t WHERE ${visible()} LIMIT $5::integer) t) u`.text

/**
 * For each participant, the number of committed turns by other actors that the participant has not read, as far as both
 * the participant and the viewer see them; counting stops at `limit`. Keyed by `participantKey`. Actors who were never
 * participants have no key.
 */
export async function countUnread(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  participants: readonly { conversationId: string; actor: string }[],
  limit: number,
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ conversationId: string; actor: string; unread: number }>({
    scope: viewer.tenant,
    name: 'count-unread',
    text: COUNT_UNREAD,
    values: [
      viewer.tenant,
      viewer.actor,
      participants.map((p) => p.conversationId),
      participants.map((p) => p.actor),
      limit,
    ],
  })
  return new Map(rows.map(({ conversationId, actor, unread }) => [participantKey(conversationId, actor), unread]))
}
