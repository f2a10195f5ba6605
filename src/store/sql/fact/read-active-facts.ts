// Facts that are compared with one another: of one user, or of nobody in one conversation, and of one visibility set. For jobs
// too, so not narrowed to a view unless a viewer is given.

import type { Db } from '../../db.ts'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'
import { empty, sql } from '../sql.ts'
import { factVisible } from '../visible.ts'

export type FactScope = {
  tenant: string
  /** Whom the facts are about; null for anybody and nobody. */
  userId: string | null
  /** The conversation they come from; null for any and none. */
  conversationId: string | null
  /** Whose view; null for all there are. */
  actor: string | null
}

/**
 * The newest active facts in scope, up to `limit` of each set that is compared; set by set. By fact_user, or fact_conversation.
 */
export async function readActiveFacts(
  db: Db,
  { tenant, userId, conversationId, actor }: FactScope,
  limit: number,
): Promise<FactRow[]> {
  const inConversation = sql`f.conversation_id = ${conversationId}::text`
  const inScope =
    userId === null
      ? sql`AND ${inConversation}`
      : sql`AND f.user_id = ${userId}::text ${conversationId === null ? empty : sql`AND ${inConversation}`}`
  const inView = actor === null ? empty : sql`AND ${factVisible({ tenant, actor })}`
  return db.$queryRaw<FactRow[]>`
      SELECT ${FACT_COLUMNS}
      FROM (
        SELECT f.*, row_number() OVER (
          PARTITION BY coalesce(f.user_id, f.conversation_id), f.visibility
          ORDER BY f.created_at DESC, f.id DESC) AS place
        FROM fact f
        WHERE f.tenant = ${tenant}::text AND f.superseded_at IS NULL ${inScope} ${inView}) f
      WHERE f.place <= ${limit}::integer
      ORDER BY coalesce(f.user_id, f.conversation_id), f.visibility, f.place`
}

/** Facts about any of the users, or about nobody in the conversation, that hold or held; newest first, up to `limit`. */
export async function readKnownFacts(
  db: Db,
  tenant: string,
  users: readonly string[],
  conversationId: string,
  limit: number,
): Promise<FactRow[]> {
  return db.$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f
           WHERE f.tenant = ${tenant}::text
             AND (f.user_id = ANY (${users}::text[]) OR f.user_id IS NULL AND f.conversation_id = ${conversationId}::text)
           ORDER BY f.created_at DESC, f.id DESC LIMIT ${limit}::integer`
}

/** What users are called in the tenant's conversations, by actor: at most 100 names each. By participant_actor. */
export async function readNames(db: Db, tenant: string, users: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await db.$queryRaw<{ actor: string; names: string[] }[]>`
      SELECT a.actor, ARRAY(
        SELECT DISTINCT p.display_name FROM participant p
        JOIN conversation c ON c.id = p.conversation_id AND c.tenant = ${tenant}::text
        WHERE p.actor = a.actor AND p.display_name IS NOT NULL LIMIT 100) AS names
      FROM unnest(${users}::text[]) AS a(actor)`
  return new Map(rows.map(({ actor, names }) => [actor, names]))
}
