// How much a view holds. Everyone who sees all that is public gets the counters of the journal's head plus their own
// private turns (index turn_private); only a windowed view is counted through.

import type { Pool } from 'pg'
import { newest, views, visible, whole } from '../visible.ts'

export type TurnCount = { turnCount: number; tokenCount: number }

/** Committed turns and their tokens in the viewer's view of each conversation, newest versions only. */
export async function countTurns(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationIds: readonly string[],
): Promise<Map<string, TurnCount>> {
  const counted = (where: string) => `
    SELECT count(*)::integer AS turns, coalesce(sum(t.token_count), 0)::bigint AS tokens
    FROM turn t
    WHERE t.conversation_id = v.id AND t.status = 'COMMITTED' AND ${where} AND ${visible()} AND ${newest()}`
  const { rows } = await pool.query<{ id: string } & TurnCount>({
    name: 'count-turns',
    text: `
      SELECT v.id,
             CASE WHEN ${whole()} THEN j.turn_count + private.turns ELSE windowed.turns END AS "turnCount",
             CASE WHEN ${whole()} THEN j.token_count + private.tokens ELSE windowed.tokens END AS "tokenCount"
      FROM (${views('$1', '$2', 'c.id = ANY ($3::text[])')}) v
      JOIN journal j ON j.conversation_id = v.id
      CROSS JOIN LATERAL (${counted(`${whole()} AND t.audience IS NOT NULL`)}) private
      CROSS JOIN LATERAL (${counted(`NOT ${whole()}`)}) windowed`,
    values: [viewer.tenant, viewer.actor, conversationIds],
  })
  return new Map(rows.map(({ id, turnCount, tokenCount }) => [id, { turnCount, tokenCount }]))
}

/** Names a participant in a Map. */
export const participantKey = (conversationId: string, actor: string) => `${conversationId} ${actor}`

/**
 * For each participant, the committed turns of others that lie after what they have read and that both they and the
 * viewer see. Keyed by `participantKey`; who is no participant has no key.
 */
export async function countUnread(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  participants: readonly { conversationId: string; actor: string }[],
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ conversationId: string; actor: string; unread: number }>({
    name: 'count-unread',
    text: `
      SELECT p.conversation_id AS "conversationId", p.actor, u.unread
      FROM unnest($3::text[], $4::text[]) AS a(conversation_id, actor)
      JOIN participant p ON p.conversation_id = a.conversation_id AND p.actor = a.actor
      CROSS JOIN LATERAL (${views('$1', '$2', 'c.id = a.conversation_id')}) v
      CROSS JOIN LATERAL (
        SELECT count(*)::integer AS unread FROM turn t
        WHERE t.conversation_id = p.conversation_id AND t.root_seq > p.last_read_seq AND t.actor <> p.actor
          AND t.status = 'COMMITTED' AND ${visible()} AND ${visible('t', 'p')} AND ${newest('t', 'p')}) u`,
    values: [viewer.tenant, viewer.actor, participants.map((p) => p.conversationId), participants.map((p) => p.actor)],
  })
  return new Map(rows.map(({ conversationId, actor, unread }) => [participantKey(conversationId, actor), unread]))
}
