// Facts that are compared with one another: of one user, or of nobody in one conversation, and of one visibility set. For jobs
// too, so not narrowed to a view unless a viewer is given.

import type { Pool } from 'pg'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'
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
  pool: Pool,
  { tenant, userId, conversationId, actor }: FactScope,
  limit: number,
): Promise<FactRow[]> {
  const of =
    userId !== null
      ? 'f.user_id = $2::text AND ($3::text IS NULL OR f.conversation_id = $3::text)'
      : '$2::text IS NULL AND f.conversation_id = $3::text'
  const { rows } = await pool.query<FactRow>({
    // No name: what is asked for decides the plan.
    text: `
      SELECT ${FACT_COLUMNS}
      FROM (
        SELECT f.*, row_number() OVER (
          PARTITION BY coalesce(f.user_id, f.conversation_id), f.visibility
          ORDER BY f.created_at DESC, f.id DESC) AS place
        FROM fact f
        WHERE f.tenant = $1::text AND f.superseded_at IS NULL AND ${of}
          AND ($4::text IS NULL OR ${factVisible('f', '$1', '$4')})) f
      WHERE f.place <= $5::integer
      ORDER BY coalesce(f.user_id, f.conversation_id), f.visibility, f.place`,
    values: [tenant, userId, conversationId, actor, limit],
  })
  return rows
}

/** Facts about any of the users, or about nobody in the conversation, that hold or held; newest first, up to `limit`. */
export async function readKnownFacts(
  pool: Pool,
  tenant: string,
  users: readonly string[],
  conversationId: string,
  limit: number,
): Promise<FactRow[]> {
  const { rows } = await pool.query<FactRow>({
    name: 'read-known-facts',
    text: `SELECT ${FACT_COLUMNS} FROM fact f
           WHERE f.tenant = $1::text
             AND (f.user_id = ANY ($2::text[]) OR f.user_id IS NULL AND f.conversation_id = $3::text)
           ORDER BY f.created_at DESC, f.id DESC LIMIT $4::integer`,
    values: [tenant, users, conversationId, limit],
  })
  return rows
}

/** What users are called in the tenant's conversations, by actor: at most 100 names each. By participant_actor. */
export async function readNames(pool: Pool, tenant: string, users: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await pool.query<{ actor: string; names: string[] }>({
    name: 'read-names',
    text: `
      SELECT a.actor, ARRAY(
        SELECT DISTINCT p.display_name FROM participant p
        JOIN conversation c ON c.id = p.conversation_id AND c.tenant = $1::text
        WHERE p.actor = a.actor AND p.display_name IS NOT NULL LIMIT 100) AS names
      FROM unnest($2::text[]) AS a(actor)`,
    values: [tenant, users],
  })
  return new Map(rows.map(({ actor, names }) => [actor, names]))
}
