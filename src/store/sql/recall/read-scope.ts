// The conversations a search goes through. By primary key, or by the indexes conversation_owner and conversation_newest.

import type { Pool } from 'pg'

export type Scope = 'CONVERSATION' | 'OWNER' | 'TENANT'

export type ScopeConversation = {
  id: string
  /** Its newest entry: it has no more turns than entries. */
  lastSeq: number
  /** Whether any active fact, seen or not, is known from it. Looked up for one conversation only: of many, it is taken so. */
  hasFacts: boolean
}

const WHERE: Record<Scope, string> = {
  CONVERSATION: 'c.id = $2::text AND $3::text IS NOT NULL',
  OWNER: `c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = $2::text AND o.tenant = $1::text), $3::text)`,
  TENANT: '($2::text IS NULL OR true) AND $3::text IS NOT NULL',
}

const ONE_HAS_FACTS = 'EXISTS (SELECT FROM fact f WHERE f.conversation_id = c.id AND f.superseded_at IS NULL)'
const HAS_FACTS: Record<Scope, string> = { CONVERSATION: ONE_HAS_FACTS, OWNER: 'true', TENANT: 'true' }

/** Conversations of the tenant: that one, those of its owner (without `conversation`, of `actor`), or all; in no order. */
export async function readScope(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string },
  scope: Scope,
  conversationId: string | null,
): Promise<ScopeConversation[]> {
  const { rows } = await pool.query<ScopeConversation>({
    name: `read-scope-${scope.toLowerCase()}`,
    text: `SELECT c.id, j.last_seq AS "lastSeq", ${HAS_FACTS[scope]} AS "hasFacts"
           FROM conversation c JOIN journal j ON j.conversation_id = c.id
           WHERE c.tenant = $1::text AND ${WHERE[scope]}`,
    values: [tenant, conversationId, actor],
  })
  return rows
}
