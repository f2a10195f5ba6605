// The conversations a search goes through. By primary key, or by the indexes conversation_owner and conversation_newest.

import type { Db } from '../../db.ts'
import { named, raw, sql, type Sql } from '../sql.ts'

export type Scope = 'CONVERSATION' | 'OWNER' | 'TENANT'

export type ScopeConversation = {
  id: string
  /** Its newest entry: it has no more turns than entries. */
  lastSeq: number
  /** Whether it has an active fact, visible or not. Looked up for a single conversation; of several, always true. */
  hasFacts: boolean
}

const inScope = (scope: Scope, viewer: { tenant: string; actor: string }, conversationId: string | null): Sql => {
  if (scope === 'CONVERSATION') return sql`c.id = ${conversationId}::text`
  if (scope === 'TENANT') return sql`true`
  return sql`c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = ${conversationId}::text AND o.tenant = ${viewer.tenant}::text),
    ${viewer.actor}::text)`
}

const hasFacts = raw('EXISTS (SELECT FROM fact f WHERE f.conversation_id = c.id AND f.superseded_at IS NULL)')

/**
 * Conversations of the tenant, in no order: that one; those of its owner, or of the viewer if none is given; or all.
 */
export const readScope = (
  db: Db,
  viewer: { tenant: string; actor: string },
  scope: Scope,
  conversationId: string | null,
): Promise<ScopeConversation[]> =>
  db.$queryRaw<ScopeConversation[]>`${named(`read-scope-${scope.toLowerCase()}`)}
    SELECT c.id, j.last_seq AS "lastSeq", ${scope === 'CONVERSATION' ? hasFacts : raw('true')} AS "hasFacts"
    FROM conversation c JOIN journal j ON j.conversation_id = c.id
    WHERE c.tenant = ${viewer.tenant}::text AND ${inScope(scope, viewer, conversationId)}`
