// Finds and claims the conversations that are behind for an embedder: the journal head is ahead of the embedder's
// cursor (key conversation_id, embedder). A claim is a lease, so a process that crashes only delays its conversations.
// Named statements of pg: they run after every append, where Prisma would add a tenth to the server's CPU time per
// delivery (`npm run bench -- fan-out`).

import { SYSTEM } from '../../../db/scope.ts'
import type { Pool } from '../../../db/tenant-pool.ts'

/** Duration of a claim. Each batch renews the claim. */
const LEASE = `interval '30 seconds'`

/** Up to `limit` unclaimed conversations that are behind, most recently active first. Reads all journal heads. */
export async function findConversationsBehind(pool: Pool, embedder: string, limit: number): Promise<string[]> {
  const { rows } = await pool.query<{ conversationId: string }>({
    scope: SYSTEM,
    name: 'find-conversations-behind',
    text: `
      SELECT j.conversation_id AS "conversationId"
      FROM journal j
      LEFT JOIN embedding_cursor k ON k.conversation_id = j.conversation_id AND k.embedder = $1::text
      WHERE j.last_seq > coalesce(k.through_seq, 0) AND (k.claimed_until IS NULL OR k.claimed_until < now())
      ORDER BY j.updated_at DESC LIMIT $2::integer`,
    values: [embedder, limit],
  })
  return rows.map(({ conversationId }) => conversationId)
}

/**
 * Claims the conversations that are behind. All statements in this file lock cursors in order of conversation id, to
 * avoid deadlocks.
 * @returns `claimed`: conversations that were claimed; `busy`: conversations that are behind and already claimed
 */
export async function claimConversations(
  pool: Pool,
  embedder: string,
  conversationIds: readonly string[],
): Promise<{ claimed: string[]; busy: string[] }> {
  const { rows } = await pool.query<{ conversationId: string; taken: boolean }>({
    scope: SYSTEM,
    name: 'claim-embedding',
    text: `
      WITH model AS MATERIALIZED (
        SELECT e.name FROM embedder e WHERE e.name = $1::text FOR KEY SHARE
      ), behind AS MATERIALIZED (
        SELECT c.id, c.tenant
        FROM model m
        CROSS JOIN conversation c
        JOIN journal j ON j.conversation_id = c.id
        LEFT JOIN embedding_cursor k ON k.conversation_id = c.id AND k.embedder = $1::text
        WHERE c.id = ANY ($2::text[]) AND j.last_seq > coalesce(k.through_seq, 0)
        ORDER BY c.id FOR KEY SHARE OF c
      ), taken AS (
        INSERT INTO embedding_cursor AS k (embedder, conversation_id, tenant, claimed_until)
        SELECT $1::text, b.id, b.tenant, now() + ${LEASE} FROM behind b ORDER BY b.id
        ON CONFLICT (conversation_id, embedder) DO UPDATE SET claimed_until = excluded.claimed_until
        WHERE k.claimed_until IS NULL OR k.claimed_until < now()
        RETURNING k.conversation_id AS id
      )
      SELECT b.id AS "conversationId", t.id IS NOT NULL AS taken FROM behind b LEFT JOIN taken t ON t.id = b.id`,
    values: [embedder, conversationIds],
  })
  const idsOf = (isTaken: boolean) =>
    rows.filter(({ taken }) => taken === isTaken).map(({ conversationId }) => conversationId)
  return { claimed: idsOf(true), busy: idsOf(false) }
}

/**
 * Moves the cursors of claimed conversations and renews the claims. Releases a conversation when its cursor reaches the
 * journal head.
 * @returns the conversations that were released, and conversations that no longer exist
 */
export async function advanceConversations(
  pool: Pool,
  embedder: string,
  conversationIds: readonly { conversationId: string; through: number }[],
): Promise<string[]> {
  const ids = conversationIds.map(({ conversationId }) => conversationId)
  const heads = conversationIds.map(({ through }) => through)
  const { rows } = await pool.query<{ conversationId: string }>({
    scope: SYSTEM,
    name: 'advance-embedding',
    text: `
      WITH locked AS MATERIALIZED (
        SELECT k.conversation_id FROM embedding_cursor k
        WHERE k.conversation_id = ANY ($2::text[]) AND k.embedder = $1::text
        ORDER BY k.conversation_id FOR UPDATE
      ), noted AS (
        UPDATE embedding_cursor k
        SET through_seq = greatest(k.through_seq, a.through),
            claimed_until = CASE WHEN j.last_seq > greatest(k.through_seq, a.through) THEN now() + ${LEASE} END
        FROM unnest($2::text[], $3::integer[]) AS a(conversation_id, through)
        JOIN locked h ON h.conversation_id = a.conversation_id
        JOIN journal j ON j.conversation_id = a.conversation_id
        WHERE k.conversation_id = a.conversation_id AND k.embedder = $1::text
        RETURNING a.conversation_id, k.claimed_until
      )
      SELECT a.conversation_id AS "conversationId" FROM unnest($2::text[]) AS a(conversation_id) LEFT JOIN noted n ON n.conversation_id = a.conversation_id
      WHERE n.claimed_until IS NULL`,
    values: [embedder, ids, heads],
  })
  return rows.map(({ conversationId }) => conversationId)
}

/** Releases claimed conversations without moving their cursors. */
export async function releaseConversations(
  pool: Pool,
  embedder: string,
  conversationIds: readonly string[],
): Promise<void> {
  await pool.query({
    scope: SYSTEM,
    name: 'release-embedding',
    text: `
      WITH locked AS MATERIALIZED (
        SELECT k.conversation_id FROM embedding_cursor k
        WHERE k.conversation_id = ANY ($2::text[]) AND k.embedder = $1::text
        ORDER BY k.conversation_id FOR UPDATE
      )
      UPDATE embedding_cursor k SET claimed_until = NULL
      FROM locked h WHERE k.conversation_id = h.conversation_id AND k.embedder = $1::text`,
    values: [embedder, conversationIds],
  })
}
