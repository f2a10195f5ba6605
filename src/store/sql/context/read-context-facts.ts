// The facts that a context of a conversation may tell: of the conversation, and about people in it, wherever they were said.

import type { Pool } from 'pg'
import { FACT_COLUMNS, type FactRow } from '../fact/fact-columns.ts'
import { factVisible } from '../visible.ts'

/**
 * Active facts that the viewer sees, the last observed first. Reads all facts of the conversation and of those users, by the
 * indexes fact_conversation and fact_user.
 */
export async function readContextFacts(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationId: string,
  userIds: readonly string[],
  limit: number,
): Promise<FactRow[]> {
  const { rows } = await pool.query<FactRow>({
    name: 'read-context-facts',
    text: `
      SELECT ${FACT_COLUMNS} FROM fact f
      WHERE (f.conversation_id = $3::text OR f.tenant = $1::text AND f.user_id = ANY ($4::text[]))
        AND f.superseded_at IS NULL AND ${factVisible('f', '$1', '$2')}
      ORDER BY f.observed_at DESC, f.id DESC LIMIT $5::integer`,
    values: [viewer.tenant, viewer.actor, conversationId, userIds, limit],
  })
  return rows
}
