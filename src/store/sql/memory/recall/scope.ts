// Reads the conversations that a search covers, by primary key or by the indexes conversation_owner,
// conversation_newest and participant_actor. Uses pg's named statements, because every recall starts with one, and
// Prisma would take about 0.5 ms more (`npm run bench -- recall`).

import { offsetOf } from '../../../vectors/binary-array.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import { readOf, readOne, type Read } from '../../../db/read.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { conversationVisible, joinViewer, VIEWER, viewColumns, views } from '../../kernel/visible.ts'
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
  index: IndexView
}

/** Each condition uses $3, because Postgres must infer the types of all parameters. */
const IN_SCOPE: Record<WideScope, string> = {
  OWNER: `c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = $3::text AND o.tenant = $1::text), $2::text)`,
  TENANT: '($3::text IS NULL OR true)',
}

const HAS_FACTS = `EXISTS (
  SELECT FROM fact_source s JOIN fact f ON f.id = s.fact_id WHERE s.conversation_id = c.id AND f.superseded_at IS NULL)`

/** The views of the conversations that meet the condition. Joining `conversation` to `views` again would be quadratic. */
const scope = (condition: string) => sql`
  SELECT c.id, c.removed_through, ${viewColumns('actor')} FROM conversation c ${joinViewer(VIEWER)}
  WHERE ${conversationVisible(VIEWER)} AND ${raw(condition)}`

/**
 * Reads the tenant's OPEN and MEMBERS conversations separately, to avoid a scan of MEMBERS conversations that the
 * viewer does not see. The scope OWNER is not divided, because its plan would then begin with all participations of the
 * viewer: 400 ms for an agent in 100,000 MEMBERS conversations.
 */
const inTenant = sql`
  ${scope(`c.visibility = 'OPEN' AND ${IN_SCOPE.TENANT}`)} UNION ALL
  ${scope(`c.visibility = 'MEMBERS' AND p.actor IS NOT NULL AND ${IN_SCOPE.TENANT}`)}`

/** The time is rounded up to milliseconds, because stored times are rounded. */
const TIME = 'ceil(extract(epoch FROM now()) * 1000)::float8'

/** The view of an actor who sees the whole conversation and was never in an audience. Most views equal it. */
const COMMON_VIEW = { actor: null, windows: [1], addressed: false } as const

// One row with packed columns, because one row for each of thousands of conversations takes longer than the search.
const statement = (wide: WideScope) =>
  sql`
  SELECT string_agg(c.id, ' ') AS ids, array_send(array_agg(j.last_seq)) AS "lastSeqs",
         array_send(array_agg(j.turn_count)) AS "publicTurns", array_send(array_agg(c.removed_through)) AS removed,
         array_send(array_agg(coalesce(k.through_seq, 0))) AS embedded,
         jsonb_object_agg(c.id, jsonb_build_object('actor', c.actor, 'windows', c.windows, 'addressed', c.addressed))
           FILTER (WHERE c.addressed OR c.windows <> '{1}') AS views,
         ${raw(TIME)} AS time
  FROM (${wide === 'TENANT' ? inTenant : scope(IN_SCOPE[wide])}) c
  JOIN journal j ON j.conversation_id = c.id
  LEFT JOIN embedding_cursor k ON k.conversation_id = c.id AND k.embedder = $4::text`.text

const STATEMENTS = { OWNER: statement('OWNER'), TENANT: statement('TENANT') }

const ONE = sql`
  SELECT c.id, j.turn_count AS "publicTurns", ${raw(HAS_FACTS)} AS "hasFacts", ${indexViewColumns('$4')}, t.time
  FROM (SELECT ${raw(TIME)} AS time) t
  LEFT JOIN (${views(VIEWER, raw('c.id = $3::text'))}) v ON true
  LEFT JOIN conversation c ON c.id = v.id LEFT JOIN journal j ON j.conversation_id = v.id`.text

/** The result of `readScope`, and the database's time before the conversations were read. */
export type ScopeRead = { conversations: ScopeConversation[]; readAt: Date }

type ConversationRow = IndexViewRow & { id: string | null; publicTurns: number; hasFacts: boolean; time: number }

/** Reads the conversation, if the viewer sees it, with its IndexView for the embedder. */
export const conversationScopeRead = (
  { tenant, actor }: { tenant: string; actor: string },
  conversationId: string,
  embedder: string,
): Read<ScopeRead> =>
  readOf(
    { name: 'read-scope-conversation', text: ONE, values: [tenant, actor, conversationId, embedder] },
    ([row]: ConversationRow[]) => {
      const { id, lastSeq, publicTurns, hasFacts, time } = row!
      const found = id === null ? [] : [{ id, lastSeq, publicTurns, hasFacts, index: toIndexView(row!) }]
      return { conversations: found, readAt: new Date(time) }
    },
  )

/** Runs `conversationScopeRead`. */
export const readConversationScope = (
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationId: string,
  embedder: string,
): Promise<ScopeRead> => readOne(pool, viewer.tenant, conversationScopeRead(viewer, conversationId, embedder))

/** The columns of the statements for wide scopes: `ids` and those below in the format of array_send, or all null. */
type PackedScope = { time: number; views: Record<string, IndexView['view']> | null } & (
  | { ids: string; lastSeqs: Buffer; publicTurns: Buffer; removed: Buffer; embedded: Buffer }
  | { ids: null }
)

/**
 * Reads the conversations in scope that the viewer sees, unordered, with their IndexViews for the embedder. OWNER: all
 * conversations of the given conversation's owner, or of the viewer if none is given. TENANT: all conversations.
 */
export async function readWideScope(
  pool: Pool,
  { tenant, actor }: { tenant: string; actor: string },
  { scope, conversationId }: { scope: WideScope; conversationId: string | null },
  embedder: string,
): Promise<ScopeRead> {
  const { rows } = await pool.query<PackedScope>({
    scope: tenant,
    name: `read-scope-${scope.toLowerCase()}`,
    text: STATEMENTS[scope],
    values: [tenant, actor, conversationId, embedder],
  })
  const [row] = rows as [PackedScope]
  const readAt = new Date(row.time)
  if (row.ids === null) return { conversations: [], readAt }
  const { lastSeqs, publicTurns, removed, embedded, views: ownViews } = row
  const conversations = row.ids.split(' ').map((id, i): ScopeConversation => {
    const at = offsetOf(i, 4)
    const lastSeq = lastSeqs.readInt32BE(at)
    const state = { lastSeq, removedThrough: removed.readInt32BE(at), embeddedThrough: embedded.readInt32BE(at) }
    const view = ownViews?.[id] ?? COMMON_VIEW
    return { id, lastSeq, publicTurns: publicTurns.readInt32BE(at), hasFacts: true, index: { state, view } }
  })
  return { conversations, readAt }
}
