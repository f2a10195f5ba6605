// Conversations with the head of their journal and the viewer's view of them: by id, by key, or listed.

import type { Pool } from 'pg'
import type { CompactionStrategy } from '../../generated/enums.ts'
import { among, views, type HowMany } from '../visible.ts'

type Viewer = { tenant: string; actor: string }

export type ConversationRow = {
  id: string
  tenant: string
  key: string | null
  owner: string
  agentName: string | null
  title: string | null
  systemPrompt: string | null
  metadata: Record<string, unknown>
  /** The policy of compaction; null is the server's own summarizer. */
  triggerTurns: number
  triggerTokens: number
  summarizerModel: string | null
  strategy: CompactionStrategy
  /** Whether facts are taken from its turns without being asked for. */
  factExtraction: boolean
  createdAt: Date
  updatedAt: Date
  lastSeq: number
  /** Committed turns without audience, and their tokens; what the viewer counts may differ. */
  publicTurnCount: number
  publicTokenCount: number
  /** The viewer's view: see domain/view.ts. */
  view: { actor: string | null; windows: number[]; addressed: boolean }
}

const SELECT = `
  SELECT c.id, c.tenant, c.key, c.owner, c.agent_name AS "agentName", c.title, c.system_prompt AS "systemPrompt",
         c.metadata, c.trigger_turns AS "triggerTurns", c.trigger_tokens AS "triggerTokens",
         c.summarizer_model AS "summarizerModel", c.compaction_strategy AS strategy,
         c.fact_extraction AS "factExtraction", c.created_at AS "createdAt", j.updated_at AS "updatedAt",
         j.last_seq AS "lastSeq",
         j.turn_count AS "publicTurnCount", j.token_count AS "publicTokenCount", v.actor AS "viewActor", v.windows,
         v.addressed
  FROM conversation c
  JOIN journal j ON j.conversation_id = c.id`

type Row = Omit<ConversationRow, 'view'> & { viewActor: string | null; windows: number[]; addressed: boolean }

const toConversation = ({ viewActor, windows, addressed, ...row }: Row): ConversationRow => ({
  ...row,
  view: { actor: viewActor, windows, addressed },
})

const byId = (name: string, conversationIds: HowMany) => ({
  name,
  text: `${SELECT} JOIN (${views('$1', '$2', among('$3', conversationIds))}) v ON v.id = c.id`,
})
const BY_ID = { one: byId('read-conversation', 'one'), many: byId('read-conversations', 'many') }

/** Those of the conversations that exist in the viewer's tenant, in no order. */
export async function readConversations(
  pool: Pool,
  viewer: Viewer,
  ids: readonly string[],
): Promise<ConversationRow[]> {
  const { rows } = await pool.query<Row>({
    ...BY_ID[ids.length === 1 ? 'one' : 'many'],
    values: [viewer.tenant, viewer.actor, ids],
  })
  return rows.map(toConversation)
}

/** The id of the conversation with that key, or null. */
export async function findConversation(pool: Pool, tenant: string, key: string): Promise<string | null> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'find-conversation',
    text: 'SELECT id FROM conversation WHERE tenant = $1 AND key = $2',
    values: [tenant, key],
  })
  return rows[0]?.id ?? null
}

export type ConversationOrder = 'CREATED' | 'ACTIVE'

/** A place in a list of conversations: the time it is ordered by, then the id. */
type ConversationPlace = { at: Date; id: string }

type ConversationList = {
  limit: number
  order: ConversationOrder
  /** Newest first, or from the other end. */
  from: 'newest' | 'oldest'
  after?: ConversationPlace | null
  before?: ConversationPlace | null
  owner?: string | null
  agentName?: string | null
  participant?: string | null
  metadata?: Record<string, unknown> | null
  updatedBefore?: Date | null
  search?: string | null
}

/** Text for LIKE that matches itself anywhere. */
const containing = (search: string) => `%${search.replace(/[\\%_]/g, '\\$&')}%`

/**
 * The conversations of the viewer's tenant that match, in the list's direction. In order of creation nothing that is written
 * meanwhile moves a conversation; in order of activity a conversation that gets an entry moves to the front.
 */
export async function listConversations(
  pool: Pool,
  viewer: Viewer,
  list: ConversationList,
): Promise<ConversationRow[]> {
  const [at, id] = list.order === 'CREATED' ? ['c.created_at', 'c.id'] : ['j.updated_at', 'j.conversation_id']
  const direction = list.from === 'newest' ? 'DESC' : 'ASC'
  const values: unknown[] = [viewer.tenant, viewer.actor, list.limit]
  const where: string[] = []
  const given = <T>(value: T | null | undefined, condition: (parameter: string) => string) => {
    if (value == null) return
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  const beyond = (place: ConversationPlace | null | undefined, sign: '<' | '>') => {
    if (!place) return
    values.push(place.at, place.id)
    where.push(`(${at}, ${id}) ${sign} ($${values.length - 1}::timestamptz, $${values.length}::text)`)
  }
  beyond(list.after, '<')
  beyond(list.before, '>')
  given(list.owner, (p) => `c.owner = ${p}::text`)
  given(list.agentName, (p) => `c.agent_name = ${p}::text`)
  given(
    list.participant,
    (p) => `EXISTS (SELECT FROM participant m WHERE m.conversation_id = c.id
                                            AND m.actor = ${p}::text AND m.left_at IS NULL)`,
  )
  given(list.metadata && JSON.stringify(list.metadata), (p) => `c.metadata @> ${p}::jsonb`)
  given(list.updatedBefore, (p) => `j.updated_at < ${p}::timestamptz`)
  given(list.search ? containing(list.search) : null, (p) => `c.title ILIKE ${p}::text`)
  const { rows } = await pool.query<Row>(
    `${SELECT}
     CROSS JOIN LATERAL (${views('$1', '$2', 'c.id = j.conversation_id')}) v
     WHERE ${list.order === 'CREATED' ? 'c' : 'j'}.tenant = $1::text ${where.map((w) => `AND ${w}`).join(' ')}
     ORDER BY ${at} ${direction}, ${id} ${direction} LIMIT $3::integer`,
    values,
  )
  return rows.map(toConversation)
}
