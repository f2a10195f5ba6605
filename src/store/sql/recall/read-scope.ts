// Reads the conversations that a search covers, by primary key or by the indexes conversation_owner,
// conversation_newest and participant_actor. Uses pg's named statements, because every recall starts with one, and
// Prisma would take about 0.5 ms more (`npm run bench -- recall`).

import type { Pool } from '../../tenant-pool.ts'
import { raw, sql } from '../sql.ts'
import { VIEWER, views } from '../visible.ts'
import { indexViewColumns, toIndexView, type IndexView, type IndexViewRow } from './read-turn-index.ts'

export type WideScope = 'OWNER' | 'TENANT'
export type Scope = 'CONVERSATION' | WideScope

export type ScopeConversation = {
  id: string
  /** Seq of the conversation's newest entry, which is at least its number of turns. */
  lastSeq: number
  /** Number of committed turns without audience, newest versions only. */
  publicTurns: number
  /** Whether the conversation has an active fact, visible or not. Always true in a wide scope. */
  hasFacts: boolean
  /** Null in a wide scope. */
  index: IndexView | null
}

/** Each condition uses $3, because Postgres must infer the types of all parameters. */
const IN_SCOPE: Record<WideScope, string> = {
  OWNER: `c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = $3::text AND o.tenant = $1::text), $2::text)`,
  TENANT: '($3::text IS NULL OR true)',
}

const HAS_FACTS = `EXISTS (
  SELECT FROM fact_source s JOIN fact f ON f.id = s.fact_id WHERE s.conversation_id = c.id AND f.superseded_at IS NULL)`

/**
 * Reads the tenant's OPEN and MEMBERS conversations separately, to avoid a scan of MEMBERS conversations that the
 * viewer does not see. The scope OWNER is not divided, because its plan would then begin with all participations of the
 * viewer: 400 ms for an agent in 100,000 MEMBERS conversations.
 */
const inTenant = sql`
  ${views(VIEWER, raw(`c.visibility = 'OPEN' AND ${IN_SCOPE.TENANT}`))} UNION ALL
  ${views(VIEWER, raw(`c.visibility = 'MEMBERS' AND p.actor IS NOT NULL AND ${IN_SCOPE.TENANT}`))}`

/** The last row contains the time. The time is rounded up to milliseconds, because stored times are rounded. */
const TIME = 'ceil(extract(epoch FROM now()) * 1000)::float8'

const statement = (scope: WideScope) =>
  sql`
  SELECT c.id, j.last_seq AS "lastSeq", j.turn_count AS "publicTurns", NULL::float8 AS time
  FROM (${scope === 'TENANT' ? inTenant : views(VIEWER, raw(IN_SCOPE[scope]))}) c
  JOIN journal j ON j.conversation_id = c.id
  UNION ALL SELECT NULL, NULL, NULL, ${raw(TIME)}`.text

const STATEMENTS = { OWNER: statement('OWNER'), TENANT: statement('TENANT') }

const ONE = sql`
  SELECT c.id, j.turn_count AS "publicTurns", ${raw(HAS_FACTS)} AS "hasFacts", ${indexViewColumns('$4')}, t.time
  FROM (SELECT ${raw(TIME)} AS time) t
  LEFT JOIN (${views(VIEWER, raw('c.id = $3::text'))}) v ON true
  LEFT JOIN conversation c ON c.id = v.id LEFT JOIN journal j ON j.conversation_id = v.id`.text

/** The result of `readScope`, and the database's time before the conversations were read. */
export type ScopeRead = { conversations: ScopeConversation[]; readAt: Date }

/** Reads the conversation, if the viewer sees it, with its IndexView for the embedder. */
export async function readConversationScope(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string },
  conversationId: string,
  embedder: string,
): Promise<ScopeRead> {
  type Row = IndexViewRow & { id: string | null; publicTurns: number; hasFacts: boolean; time: number }
  const { rows } = await pool.query<Row>({
    scope: tenant,
    name: 'read-scope-conversation',
    text: ONE,
    values: [tenant, actor, conversationId, embedder],
  })
  const [row] = rows as [Row]
  const { id, lastSeq, publicTurns, hasFacts } = row
  const found = id === null ? [] : [{ id, lastSeq, publicTurns, hasFacts, index: toIndexView(row) }]
  return { conversations: found, readAt: new Date(row.time) }
}

/**
 * Reads the conversations in scope that the viewer sees, unordered. OWNER: all conversations of the given
 * conversation's owner, or of the viewer if none is given. TENANT: all conversations.
 */
export async function readWideScope(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string },
  scope: WideScope,
  conversationId: string | null,
): Promise<ScopeRead> {
  type Row = { id: string; lastSeq: number; publicTurns: number } | { id: null; time: number }
  const { rows } = await pool.query<Row>({
    scope: tenant,
    name: `read-scope-${scope.toLowerCase()}`,
    text: STATEMENTS[scope],
    values: [tenant, actor, conversationId],
  })
  const last = rows.at(-1) as { id: null; time: number }
  const conversations = (rows.slice(0, -1) as { id: string; lastSeq: number; publicTurns: number }[]).map(
    ({ id, lastSeq, publicTurns }) => ({ id, lastSeq, publicTurns, hasFacts: true, index: null }),
  )
  return { conversations, readAt: new Date(last.time) }
}
