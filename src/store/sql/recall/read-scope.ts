// Reads the conversations that a search covers, by primary key or by the indexes conversation_owner and
// conversation_newest. A named statement of pg: each recall starts with it, and Prisma would take about 0.5 ms more
// (`npm run bench -- recall`).

import type { Pool } from 'pg'

export type Scope = 'CONVERSATION' | 'OWNER' | 'TENANT'

export type ScopeConversation = {
  id: string
  /** Seq of the conversation's newest entry, which is at least its number of turns. */
  lastSeq: number
  /** Number of committed turns without audience, newest versions only. */
  publicTurns: number
  /** Whether the conversation has an active fact, visible or not. Always true unless the scope is CONVERSATION. */
  hasFacts: boolean
}

/** Each condition uses $2 and $3, because Postgres must infer the types of all parameters. */
const IN_SCOPE: Record<Scope, string> = {
  CONVERSATION: 'c.id = $2::text AND $3::text IS NOT NULL',
  OWNER: `c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = $2::text AND o.tenant = $1::text), $3::text)`,
  TENANT: '($2::text IS NULL OR true) AND $3::text IS NOT NULL',
}

const ONE_HAS_FACTS = `EXISTS (
  SELECT FROM fact_source s JOIN fact f ON f.id = s.fact_id WHERE s.conversation_id = c.id AND f.superseded_at IS NULL)`
const HAS_FACTS: Record<Scope, string> = { CONVERSATION: ONE_HAS_FACTS, OWNER: 'true', TENANT: 'true' }

/**
 * Conversations of the tenant, in no order. CONVERSATION: the given conversation. OWNER: all conversations of its
 * owner, or of the viewer if none is given. TENANT: all conversations.
 */
export async function readScope(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string },
  scope: Scope,
  conversationId: string | null,
): Promise<ScopeConversation[]> {
  const { rows } = await pool.query<ScopeConversation>({
    name: `read-scope-${scope.toLowerCase()}`,
    text: `SELECT c.id, j.last_seq AS "lastSeq", j.turn_count AS "publicTurns", ${HAS_FACTS[scope]} AS "hasFacts"
           FROM conversation c JOIN journal j ON j.conversation_id = c.id
           WHERE c.tenant = $1::text AND ${IN_SCOPE[scope]}`,
    values: [tenant, conversationId, actor],
  })
  return rows
}
