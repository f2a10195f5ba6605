// Removes erased and deleted sources from stored contexts: each message that was made from one of them loses its content.
// Runs last in the transactions that erase and delete, after the locks of journals, facts and profiles.

import type { Tx } from '../../../db/db.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'

/**
 * Removes the sources `s` that meet the condition, after it has locked their messages, in order. Returns the number of
 * messages that lose their content.
 */
async function lose(tx: Tx, condition: Sql): Promise<number> {
  return tx.$executeRaw`
    WITH lost AS MATERIALIZED (
      SELECT s.context_id, s.index, s.source_id FROM stored_context_source s WHERE NOT s.gone AND ${condition}),
    locked AS MATERIALIZED (
      SELECT m.context_id, m.index FROM stored_context_message m
      WHERE (m.context_id, m.index) IN (SELECT l.context_id, l.index FROM lost l)
      ORDER BY m.context_id, m.index FOR UPDATE),
    marked AS (
      UPDATE stored_context_source s SET gone = true FROM lost l
      WHERE s.context_id = l.context_id AND s.index = l.index AND s.source_id = l.source_id
        AND EXISTS (SELECT FROM locked))
    UPDATE stored_context_message m SET body = NULL FROM locked l
    WHERE m.context_id = l.context_id AND m.index = l.index AND m.body IS NOT NULL`
}

/** Removes the given turns, facts, summaries and profiles. Uses the index stored_context_source_source. */
export const loseSources = async (tx: Tx, sourceIds: readonly string[]): Promise<number> =>
  sourceIds.length === 0 ? 0 : lose(tx, sql`s.source_id = ANY (${sourceIds}::text[])`)

/** Removes the summaries of the conversation that no longer exist. Uses the index stored_context_source_conversation. */
export const loseDeletedSummaries = (tx: Tx, conversationId: string): Promise<number> =>
  lose(
    tx,
    sql`s.conversation_id = ${conversationId}::text AND starts_with(s.source_id, 'sum_')
        AND NOT EXISTS (SELECT FROM summary m WHERE m.id = s.source_id)`,
  )

/**
 * Removes the turns of the conversations from the contexts of other conversations. Uses the index
 * stored_context_source_conversation.
 */
export const loseConversations = (tx: Tx, conversationIds: readonly string[]): Promise<number> =>
  lose(tx, sql`s.conversation_id = ANY (${conversationIds}::text[]) AND starts_with(s.source_id, 'turn_')`)

/** Conversations under legal hold, whose contexts are kept. */
const NOT_HELD: Sql = raw('EXISTS (SELECT FROM conversation c WHERE c.id = x.conversation_id AND NOT c.legal_hold)')

/**
 * Deletes at most `limit` contexts that were built in the view of the actor, except those of conversations under legal
 * hold. Returns their number. Uses the index stored_context_actor.
 */
export const deleteContextsOf = (tx: Tx, tenant: string, actor: string, limit: number): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM stored_context WHERE id IN (
      SELECT x.id FROM stored_context x
      WHERE x.tenant = ${tenant}::text AND x.actor = ${actor}::text AND ${NOT_HELD}
      ORDER BY x.id LIMIT ${limit}::integer)`
