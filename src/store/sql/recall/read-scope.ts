// Reads the conversations that a search covers, by primary key or by the indexes conversation_owner,
// conversation_newest and participant_actor. Uses pg's named statements, because every recall starts with one, and
// Prisma would take about 0.5 ms more (`npm run bench -- recall`).

import type { Pool } from '../../tenant-pool.ts'
import { raw, sql } from '../sql.ts'
import { VIEWER, views } from '../visible.ts'

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

/** Each condition uses $3, because Postgres must infer the types of all parameters. */
const IN_SCOPE: Record<Scope, string> = {
  CONVERSATION: 'c.id = $3::text',
  OWNER: `c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = $3::text AND o.tenant = $1::text), $2::text)`,
  TENANT: '($3::text IS NULL OR true)',
}

const ONE_HAS_FACTS = `EXISTS (
  SELECT FROM fact_source s JOIN fact f ON f.id = s.fact_id WHERE s.conversation_id = c.id AND f.superseded_at IS NULL)`
const HAS_FACTS: Record<Scope, string> = { CONVERSATION: ONE_HAS_FACTS, OWNER: 'true', TENANT: 'true' }

/**
 * Reads the tenant's OPEN and MEMBERS conversations separately, to avoid a scan of MEMBERS conversations that the
 * viewer does not see. The scope OWNER is not divided, because its plan would then begin with all participations of the
 * viewer: 400 ms for an agent in 100,000 MEMBERS conversations.
 */
const inTenant = sql`
  ${views(VIEWER, raw(`c.visibility = 'OPEN' AND ${IN_SCOPE.TENANT}`))} UNION ALL
  ${views(VIEWER, raw(`c.visibility = 'MEMBERS' AND p.actor IS NOT NULL AND ${IN_SCOPE.TENANT}`))}`

/** The last row contains the time. The time is rounded up to milliseconds, because stored times are rounded. */
const statement = (scope: Scope) =>
  sql`
  SELECT c.id, j.last_seq AS "lastSeq", j.turn_count AS "publicTurns", ${raw(HAS_FACTS[scope])} AS "hasFacts",
         NULL::float8 AS time
  FROM (${scope === 'TENANT' ? inTenant : views(VIEWER, raw(IN_SCOPE[scope]))}) c
  JOIN journal j ON j.conversation_id = c.id
  UNION ALL SELECT NULL, NULL, NULL, NULL, ceil(extract(epoch FROM now()) * 1000)::float8`.text

const STATEMENTS: Record<Scope, string> = {
  CONVERSATION: statement('CONVERSATION'),
  OWNER: statement('OWNER'),
  TENANT: statement('TENANT'),
}

/**
 * The conversations in scope that the viewer sees, unordered, and the database's time before they were read.
 * CONVERSATION: the given conversation. OWNER: all conversations of its owner, or of the viewer if none is given.
 * TENANT: all conversations.
 */
export async function readScope(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string },
  scope: Scope,
  conversationId: string | null,
): Promise<{ conversations: ScopeConversation[]; readAt: Date }> {
  const { rows } = await pool.query<ScopeConversation | { id: null; time: number }>({
    scope: tenant,
    name: `read-scope-${scope.toLowerCase()}`,
    text: STATEMENTS[scope],
    values: [tenant, actor, conversationId],
  })
  const last = rows.at(-1) as { id: null; time: number }
  return { conversations: rows.slice(0, -1) as ScopeConversation[], readAt: new Date(last.time) }
}
