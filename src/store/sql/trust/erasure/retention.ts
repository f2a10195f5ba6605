// Statements of retention: find and delete expired conversations, and remove the content of summarised turns. Used by
// background work, so not limited to a tenant.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Retention } from '../../../generated/enums.ts'
import { clearDecisions } from '../../agent/approval/approvals.ts'
import { raw } from '../../kernel/sql.ts'
import { loseConversations } from './stored-contexts.ts'

/** Whether nothing may be deleted from conversation `c`: it, or one of its present or former participants, is held. */
const HELD = raw(`c.legal_hold OR EXISTS (
  SELECT FROM held_user h JOIN participant p ON p.actor = h.user_id AND p.conversation_id = c.id WHERE h.tenant = c.tenant)`)

/**
 * Expired conversations that are not held, the longest expired first, of the tenant of the first one. `isAlone`: it has
 * facts, so that it must be deleted alone. Uses the index conversation_expiring.
 */
export async function findExpired(db: Db, limit: number): Promise<{ id: string; tenant: string; isAlone: boolean }[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    { id: string; tenant: string; isAlone: boolean }[]
  >`SELECT c.id, c.tenant, EXISTS (SELECT FROM fact_source s WHERE s.conversation_id = c.id) AS "isAlone"
     FROM conversation c WHERE c.expires_at <= now() AND NOT (${HELD})
     ORDER BY c.expires_at LIMIT ${limit}::integer`
  return rows.filter(({ tenant }) => tenant === rows[0]!.tenant)
}

/**
 * Deletes conversations without facts that are still expired and not held. Skips conversations that are being written.
 * Returns the deleted conversations with their participants, and the number of turns.
 */
export async function deleteExpired(
  tx: Tx,
  ids: readonly string[],
): Promise<{ id: string; actors: string[]; turns: number }[]> {
  const locked = await tx.$queryRaw<{ id: string }[]>`
    SELECT j.conversation_id AS id FROM journal j WHERE j.conversation_id = ANY (${ids}::text[])
    ORDER BY j.conversation_id FOR UPDATE SKIP LOCKED`
  const deleted = await tx.$queryRaw<
    { id: string; actors: string[]; turns: number }[]
  >`SELECT c.id, ARRAY(SELECT p.actor FROM participant p WHERE p.conversation_id = c.id) AS actors,
            (SELECT count(*) FROM turn t WHERE t.conversation_id = c.id)::integer AS turns
     FROM conversation c
     WHERE c.id = ANY (${locked.map(({ id }) => id)}::text[]) AND c.expires_at <= now() AND NOT (${HELD})
       AND NOT EXISTS (SELECT FROM fact_source s WHERE s.conversation_id = c.id)`
  const expired = deleted.map(({ id }) => id)
  await loseConversations(tx, expired)
  await tx.$executeRaw`DELETE FROM conversation WHERE id = ANY (${expired}::text[])`
  return deleted
}

/**
 * Makes up to `limit` of the tenant's conversations expire now: those without an entry since `before` that do not
 * expire yet and are not held, with ids after `after`. Returns their ids, ascending.
 */
export const expireInactive = async (
  db: Db,
  tenant: string,
  before: Date,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> => {
  const rows = await db.of(tenant).$queryRaw<{ id: string }[]>`WITH due AS (
       SELECT c.id FROM conversation c JOIN journal j ON j.conversation_id = c.id
       WHERE c.tenant = ${tenant}::text AND j.updated_at < ${before}::timestamptz AND c.id > ${after}::text
         AND (c.expires_at IS NULL OR c.expires_at > now()) AND NOT (${HELD})
       ORDER BY c.id LIMIT ${limit}::integer)
     UPDATE conversation c SET expires_at = now() FROM due WHERE c.id = due.id RETURNING c.id`
  return rows.map(({ id }) => id).sort()
}

/** A conversation with summarised content to remove. */
export type RetainedConversation = { id: string; tenant: string; retention: Retention; removedThrough: number }

/**
 * Conversations whose summaries cover turns with content to remove, with ids after `after`. `extracts`: content is kept
 * until facts were extracted from it, in conversations with fact extraction. Uses the index conversation_retained.
 */
export const findRetained = (
  db: Db,
  after: string,
  limit: number,
  extracts: boolean,
): Promise<RetainedConversation[]> =>
  db.of(SYSTEM).$queryRaw<
    RetainedConversation[]
  >`SELECT c.id, c.tenant, c.retention, c.removed_through AS "removedThrough"
     FROM conversation c JOIN journal j ON j.conversation_id = c.id
     LEFT JOIN conversation_progress g ON g.conversation_id = c.id
     WHERE c.retention <> 'FULL' AND c.id > ${after}::text
       AND CASE WHEN ${extracts}::boolean AND c.fact_extraction THEN least(j.summarized_through, coalesce(g.extracted_through, 0))
                ELSE j.summarized_through END > c.removed_through
       AND NOT (${HELD})
     ORDER BY c.id LIMIT ${limit}::integer`

/** A version of a turn whose content is removed. */
export type RemovableTurn = { id: string; position: number; text: string; parts: unknown; pinned: boolean }

/**
 * The position up to which content may be removed now; null for a conversation that is held or whose retention is FULL.
 */
export async function readRemovableThrough(tx: Tx, conversationId: string, extracts: boolean): Promise<number | null> {
  const rows = await tx.$queryRaw<
    { through: number }[]
  >`SELECT CASE WHEN ${extracts}::boolean AND c.fact_extraction THEN least(j.summarized_through, coalesce(g.extracted_through, 0))
                 ELSE j.summarized_through END AS through
     FROM conversation c JOIN journal j ON j.conversation_id = c.id
     LEFT JOIN conversation_progress g ON g.conversation_id = c.id
     WHERE c.id = ${conversationId}::text AND c.retention <> 'FULL' AND NOT (${HELD})`
  return rows[0]?.through ?? null
}

/** The versions at the next `limit` positions after `after`, up to `through`. Open turns are not included. */
export const readRemovable = (
  tx: Tx,
  conversationId: string,
  { after, through, limit }: { after: number; through: number; limit: number },
): Promise<RemovableTurn[]> =>
  tx.$queryRaw<RemovableTurn[]>`
    SELECT t.id, t.root_seq AS "position", t.text, t.parts, t.pinned FROM turn t
    WHERE t.conversation_id = ${conversationId}::text AND t.status IN ('COMMITTED', 'ABORTED') AND t.root_seq IN (
      SELECT DISTINCT o.root_seq FROM turn o
      WHERE o.conversation_id = ${conversationId}::text AND o.root_seq > ${after}::integer AND o.root_seq <= ${through}::integer
      ORDER BY o.root_seq LIMIT ${limit}::integer)
    ORDER BY t.root_seq, t.seq`

/**
 * Removes the content, and stores its hash if that is not null. Terms become empty instead of null, so that no sweep
 * indexes the turn again.
 */
export async function removeContent(
  tx: Tx,
  conversationId: string,
  turns: readonly { id: string; position: number; hash: string | null }[],
  isEphemeral: boolean,
): Promise<void> {
  const ids = turns.map(({ id }) => id)
  await tx.$executeRaw`
    UPDATE turn t
    SET text = '', parts = NULL, sources = NULL, metadata = NULL, abort_reason = NULL, terms = '{}', cues = 0,
        content_hash = r.hash, removed_at = now(), client_hash = NULL, end_hash = NULL,
        client_id = CASE WHEN ${isEphemeral}::boolean THEN NULL ELSE t.client_id END,
        trace_id = CASE WHEN ${isEphemeral}::boolean THEN NULL ELSE t.trace_id END,
        context_id = CASE WHEN ${isEphemeral}::boolean THEN NULL ELSE t.context_id END
    FROM unnest(${ids}::text[], ${turns.map(({ hash }) => hash)}::text[]) AS r(id, hash)
    WHERE t.id = r.id AND t.conversation_id = ${conversationId}::text`
  await tx.$executeRaw`
    DELETE FROM turn_vector WHERE conversation_id = ${conversationId}::text
      AND root_seq = ANY (${turns.map(({ position }) => position)}::integer[])`
  await clearDecisions(tx, ids)
  if (!isEphemeral) return
  await tx.$executeRaw`DELETE FROM tool_call WHERE conversation_id = ${conversationId}::text AND turn_id = ANY (${ids}::text[])`
  await tx.$executeRaw`DELETE FROM tool_result WHERE conversation_id = ${conversationId}::text AND turn_id = ANY (${ids}::text[])`
}
