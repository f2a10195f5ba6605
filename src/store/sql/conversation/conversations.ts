// Reads conversations with their journal heads and the viewer's view, by id or as a list, and finds them by key. Uses
// pg, because nearly every request runs one of these statements, and Prisma takes 10 µs more per row of a list
// (`npm run bench -- http`).

import { readOf, type Read } from '../../db/read.ts'
import type { Pool } from '../../db/tenant-pool.ts'
import type { CompactionStrategy, ConversationVisibility, Retention } from '../../generated/enums.ts'
import { metadataMatches, printConditions, type MetadataConditions } from '../kernel/metadata.ts'
import { findCandidates } from './find-candidates.ts'
import { containing, empty, join, parameter, raw, sql, type Sql } from '../kernel/sql.ts'
import { hasUnread } from '../turn/unread.ts'
import {
  among,
  conversationVisible,
  howMany,
  joinViewer,
  viewColumns,
  VIEWER,
  views,
  type HowMany,
} from '../kernel/visible.ts'
import type { Viewer } from '../../db/scope.ts'

export type ConversationRow = {
  id: string
  tenant: string
  key: string | null
  owner: string
  agentName: string | null
  title: string | null
  /** The first position and the greatest seq that an automatic title was made from; null for other titles. */
  titleFrom: number | null
  titleSeq: number | null
  /** Whether the server makes a title while the conversation has none. */
  automaticTitle: boolean
  systemPrompt: string | null
  metadata: Record<string, unknown>
  /** Compaction policy. A null `summarizerModel` means the server's default summarizer. */
  triggerTurns: number
  triggerTokens: number
  summarizerModel: string | null
  strategy: CompactionStrategy
  /** Whether the server extracts facts from the conversation's turns automatically. */
  factExtraction: boolean
  /** Maximum number of consecutive turns by agents, without a turn by a person, that wake up participants. */
  maxAgentTurns: number
  /** Retention of the content of summarised turns. */
  retention: Retention
  /** Time at which the conversation is deleted; null if it never expires. */
  expiresAt: Date | null
  /** Whether the conversation is under legal hold, which forbids deleting anything from it. */
  legalHold: boolean
  /** 1 when created, incremented by each update of the fields above. */
  version: number
  /** Actors that see the conversation: present and former participants for MEMBERS, all of the tenant for OPEN. */
  visibility: ConversationVisibility
  createdAt: Date
  updatedAt: Date
  lastSeq: number
  /** Number of committed turns without audience, and their token count. The viewer may see more or fewer turns. */
  publicTurnCount: number
  publicTokenCount: number
  /** The viewer's view: see domain/kernel/view.ts. `viewActor` is null if the viewer was never a participant. */
  viewActor: string | null
  windows: number[]
  addressed: boolean
}

const COLUMNS = raw(`
  c.id, c.tenant, c.key, c.owner, c.agent_name AS "agentName", c.title, c.title_from AS "titleFrom",
  c.title_seq AS "titleSeq", c.automatic_title AS "automaticTitle", c.system_prompt AS "systemPrompt",
  c.metadata, c.trigger_turns AS "triggerTurns", c.trigger_tokens AS "triggerTokens",
  c.summarizer_model AS "summarizerModel", c.compaction_strategy AS strategy, c.fact_extraction AS "factExtraction", c.max_agent_turns AS "maxAgentTurns",
  c.retention, c.expires_at AS "expiresAt", c.legal_hold AS "legalHold", c.version, c.visibility, c.created_at AS "createdAt", j.updated_at AS "updatedAt", j.last_seq AS "lastSeq",
  j.turn_count AS "publicTurnCount", j.token_count::double precision AS "publicTokenCount"`)

const byId = (name: string, conversationIds: HowMany) => ({
  name,
  text: sql`SELECT ${COLUMNS}, ${viewColumns('viewActor')} FROM conversation c JOIN journal j ON j.conversation_id = c.id ${joinViewer(VIEWER)}
    WHERE ${conversationVisible(VIEWER)} AND ${among(parameter(3), conversationIds)}`.text,
})
const BY_ID = { one: byId('read-conversation', 'one'), many: byId('read-conversations', 'many') }

/** The conversations among the ids that the viewer sees, unordered. */
export const conversationsRead = (viewer: Viewer, ids: readonly string[]): Read<ConversationRow[]> =>
  readOf({ ...BY_ID[howMany(ids)], values: [viewer.tenant, viewer.actor, ids] }, (rows: ConversationRow[]) => rows)

const BY_KEY = sql`
  SELECT c.id FROM (${views(VIEWER, raw('c.key = $3::text'))}) v JOIN conversation c ON c.id = v.id
  ORDER BY c.created_at, c.id LIMIT 1`.text

/**
 * Id of the conversation with this key that the viewer sees; null if there is none. MEMBERS conversations may have the
 * same key as others. If the viewer sees several, returns the oldest. Uses the unique index conversation_key.
 */
export async function findConversation(pool: Pool, { tenant, actor }: Viewer, key: string): Promise<string | null> {
  const { rows } = await pool.query<{ id: string }>({
    scope: tenant,
    name: 'find-conversation',
    text: BY_KEY,
    values: [tenant, actor, key],
  })
  return rows[0]?.id ?? null
}

export type ConversationOrder = 'CREATED_AT' | 'UPDATED_AT'

/** A position in a list of conversations: the time by which the list is ordered, and the id. */
type ConversationPosition = { at: Date; id: string }

type ConversationList = {
  limit: number
  order: ConversationOrder
  /** The end of the list to start from. */
  from: 'newest' | 'oldest'
  /** Only conversations older than `after` and newer than `before`. */
  after?: ConversationPosition | null
  before?: ConversationPosition | null
  /** Only these conversations; null for all. */
  ids?: readonly string[] | null
  owner?: string | null
  agentName?: string | null
  /** Only conversations with this current participant. */
  participant?: string | null
  /** Only conversations whose metadata meets these conditions. */
  metadata?: MetadataConditions | null
  /** Only conversations that have, or do not have, turns that the viewer has not read. */
  hasUnread?: boolean | null
  updatedBefore?: Date | null
  updatedAfter?: Date | null
  /** Text that the title must contain, ignoring case. */
  search?: string | null
}

/**
 * Whether the viewer sees the title: it is not automatic, the viewer was never a participant, or the viewer's windows
 * contain every seq from `title_from` to `title_seq`. The same rule as `seesAllOf` in domain/kernel/view.ts.
 */
const TITLE_VISIBLE = raw(`(c.title_seq IS NULL OR p.actor IS NULL OR NOT EXISTS (
  SELECT FROM generate_series(0, cardinality(p.windows) / 2) i
  WHERE greatest(c.title_from, coalesce(p.windows[2 * i], 0))
        <= least(c.title_seq, coalesce(p.windows[2 * i + 1] - 1, c.title_seq))))`)

/**
 * The matching conversations that the viewer sees, starting from `list.from`. No write changes the order CREATED_AT. In
 * the order UPDATED_AT, a new entry makes its conversation the newest. OPEN and MEMBERS conversations are read
 * separately, by the index conversation_newest or journal_activity. The planner can then read the viewer's MEMBERS
 * conversations by the index participant_actor instead, which avoids a scan of the MEMBERS conversations of others.
 */
export async function pageConversations(
  pool: Pool,
  viewer: Viewer,
  list: ConversationList,
): Promise<ConversationRow[]> {
  const byCreation = list.order === 'CREATED_AT'
  const position = byCreation ? raw('c.created_at, c.id') : raw('j.updated_at, j.conversation_id')
  const [newestFirst, tenant] = byCreation
    ? [raw('c.created_at DESC, c.id DESC'), raw('c.tenant')]
    : [raw('j.updated_at DESC, j.conversation_id DESC'), raw('j.tenant')]
  const oldestFirst = byCreation ? raw('c.created_at, c.id') : raw('j.updated_at, j.conversation_id')
  const conditions = [sql`${tenant} = ${viewer.tenant}::text`]
  const filterBy = <T>(value: T | null | undefined, condition: (value: T) => Sql) => {
    if (value != null) conditions.push(condition(value))
  }
  filterBy(list.after, ({ at, id }) => sql`(${position}) < (${at}::timestamptz, ${id}::text)`)
  filterBy(list.before, ({ at, id }) => sql`(${position}) > (${at}::timestamptz, ${id}::text)`)
  filterBy(list.ids, (ids) => sql`c.id = ANY (${ids}::text[])`)
  filterBy(list.owner, (owner) => sql`c.owner = ${owner}::text`)
  filterBy(list.agentName, (agentName) => sql`c.agent_name = ${agentName}::text`)
  filterBy(
    list.participant,
    (actor) => sql`EXISTS (SELECT FROM participant m WHERE m.conversation_id = c.id
                                                   AND m.actor = ${actor}::text AND m.left_at IS NULL)`,
  )
  filterBy(list.metadata, (metadata) => metadataMatches('c.metadata', printConditions(metadata)))
  for (const ids of await findCandidates(pool, viewer.tenant, list)) conditions.push(sql`c.id = ANY (${ids}::text[])`)
  filterBy(list.hasUnread, (isUnread) => (isUnread ? hasUnread('p', 'j') : sql`${hasUnread('p', 'j')} IS NOT TRUE`))
  filterBy(list.updatedBefore, (time) => sql`j.updated_at < ${time}::timestamptz`)
  filterBy(list.updatedAfter, (time) => sql`j.updated_at >= ${time}::timestamptz`)
  filterBy(list.search || null, (search) => sql`c.title ILIKE ${containing(search)}::text AND ${TITLE_VISIBLE}`)
  // The limit is a constant, because the planner assumes a tenth of all rows for a parameter. It is a power of two, so
  // that few statements are prepared.
  const limit = raw(String(2 ** Math.ceil(Math.log2(Math.max(1, list.limit)))))
  const visible = (visibility: ConversationVisibility) => sql`(
    SELECT ${COLUMNS}, ${viewColumns('viewActor')} FROM conversation c JOIN journal j ON j.conversation_id = c.id ${joinViewer(viewer)}
    WHERE ${raw(byCreation ? 'c' : 'j')}.visibility = ${raw(`'${visibility}'`)}
      AND ${conversationVisible(viewer)} ${visibility === 'MEMBERS' ? raw('AND p.actor IS NOT NULL') : empty}
      AND ${join(conditions, ' AND ')}
    ORDER BY ${list.from === 'newest' ? newestFirst : oldestFirst} LIMIT ${limit})`
  const time = raw(byCreation ? '"createdAt"' : '"updatedAt"')
  const direction = raw(list.from === 'newest' ? 'DESC' : 'ASC')
  const statement = sql`
    SELECT * FROM (${visible('OPEN')} UNION ALL ${visible('MEMBERS')}) x
    ORDER BY x.${time} ${direction}, x.id ${direction} LIMIT ${list.limit}::integer`
  const isWholeList = conditions.length === 1
  const { rows } = await pool.query<ConversationRow>({
    scope: viewer.tenant,
    // Only the first page of the whole list is prepared, because the filters have too many combinations.
    ...(isWholeList && { name: `list-conversations-${list.order.toLowerCase()}-${list.from}-${limit.text}` }),
    text: statement.text,
    values: statement.values,
  })
  return rows
}
