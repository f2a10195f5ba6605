// Reads the candidate facts for a context: facts of the conversation, and facts about its users from any conversation.

import type { FactRow } from '../fact/fact-columns.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import { factVisible, VIEWER } from '../../kernel/visible.ts'

/** A fact with the columns that a context quotes. */
export type ContextFact = Pick<
  FactRow,
  | 'id'
  | 'userId'
  | 'conversationId'
  | 'sourceTurnId'
  | 'saidBy'
  | 'assertedBy'
  | 'subject'
  | 'predicate'
  | 'object'
  | 'observedAt'
  | 'validFrom'
  | 'validTo'
>

// One branch for each index that has the order, because a condition with OR would read the facts of all tenants.
const branch = (from: string, where: string): Sql => sql`
  SELECT f.id, f.observed_at FROM ${raw(from)}
  WHERE ${raw(where)} AND f.superseded_at IS NULL AND ${factVisible(VIEWER)}
  ORDER BY f.observed_at DESC, f.id DESC LIMIT $5::integer`

const STATEMENT = sql`
  SELECT f.id, f.user_id AS "userId", f.conversation_id AS "conversationId",
         f.source_turn_id AS "sourceTurnId", f.said_by AS "saidBy",
         f.asserted_by AS "assertedBy", f.subject, f.predicate, f.object,
         f.observed_at AS "observedAt", f.valid_from AS "validFrom", f.valid_to AS "validTo"
  FROM (
    SELECT m.id, m.observed_at FROM (
      (${branch('fact f', 'f.conversation_id = $3::text')})
      UNION
      SELECT b.id, b.observed_at FROM unnest($4::text[]) AS u(id)
      CROSS JOIN LATERAL (${branch('fact f', 'f.tenant = $1::text AND f.user_id = u.id')}) b
      UNION
      (${branch(
        'fact_source s JOIN fact f ON f.id = s.fact_id',
        's.conversation_id = $3::text AND f.conversation_id IS DISTINCT FROM $3::text',
      )})) m
    ORDER BY m.observed_at DESC, m.id DESC LIMIT $5::integer) m
  JOIN fact f ON f.id = m.id
  ORDER BY m.observed_at DESC, m.id DESC`.text

/**
 * Active facts that the viewer sees, most recently observed first, at most `limit`. Uses the indexes
 * fact_conversation_observed and fact_user_observed, up to the limit, and reads all facts of the conversation whose
 * first source is elsewhere (fact_source_conversation).
 */
export async function readContextFacts(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  { conversationId, userIds }: { conversationId: string; userIds: readonly string[] },
  limit: number,
): Promise<ContextFact[]> {
  const { rows } = await pool.query<ContextFact>({
    scope: viewer.tenant,
    name: 'read-context-facts',
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, conversationId, userIds, limit],
  })
  return rows
}
