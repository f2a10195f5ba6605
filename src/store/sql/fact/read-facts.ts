// Reads the facts that a viewer sees: by id, or as a list, newest first.

import type { Db, Tx } from '../../db.ts'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'
import type { ParticipantKind } from '../../generated/enums.ts'
import { containing, empty, join, named, raw, sql, type Sql } from '../sql.ts'
import { among, factVisible, hasSourceIn, howMany, views, visible } from '../visible.ts'
import type { Viewer } from '../../viewer.ts'

/** The visible facts among the ids, superseded or not, unordered. Uses the primary key. */
export const readFacts = (db: Tx, viewer: Viewer, ids: readonly string[]): Promise<FactRow[]> =>
  db.$queryRaw<FactRow[]>`${named('read-facts')}
    SELECT ${FACT_COLUMNS} FROM fact f WHERE f.id = ANY (${ids}::text[]) AND ${factVisible(viewer)}`

/** A position in a list of facts. */
export type FactPosition = { createdAt: Date; id: string }

type FactsOfConversation = {
  limit: number
  /** Only facts that are older than `after` and newer than `before`. */
  after?: FactPosition | null
  before?: FactPosition | null
  /** Whether the oldest facts are read, in reverse order. */
  backwards?: boolean
  includeSuperseded?: boolean
}
type FactList = FactsOfConversation & {
  userId?: string | null
  conversationId?: string | null
  subject?: string | null
  predicate?: string | null
  /** Text that the subject, predicate or object must contain, ignoring case. */
  text?: string | null
  observedAfter?: Date | null
  observedBefore?: Date | null
  minConfidence?: number | null
  saidBy?: readonly ParticipantKind[] | null
}

const place = ({ createdAt, id }: FactPosition): Sql => sql`(${createdAt}::timestamptz, ${id}::text)`

/** The conditions that the positions add. */
function between({ after, before }: Pick<FactList, 'after' | 'before'>): Sql[] {
  const conditions: Sql[] = []
  if (after) conditions.push(sql`(f.created_at, f.id) < ${place(after)}`)
  if (before) conditions.push(sql`(f.created_at, f.id) > ${place(before)}`)
  return conditions
}

const newestFirst = raw('f.created_at DESC, f.id DESC')
const oldestFirst = raw('f.created_at, f.id')

/**
 * The visible facts that match, in order of creation, newest first unless `backwards`; no write changes this order.
 * Compares texts without regard to case. Uses the index fact_source_conversation, fact_user or fact_newest.
 */
export function listFacts(db: Db, viewer: Viewer, list: FactList): Promise<FactRow[]> {
  const conditions = [factVisible(viewer)]
  if (!list.includeSuperseded) conditions.push(sql`f.superseded_at IS NULL`)
  if (list.userId != null) conditions.push(sql`f.user_id = ${list.userId}::text`)
  if (list.conversationId != null) conditions.push(hasSourceIn(sql`${list.conversationId}::text`))
  if (list.subject != null) conditions.push(sql`lower(f.subject) = lower(${list.subject}::text)`)
  if (list.predicate != null) conditions.push(sql`lower(f.predicate) = lower(${list.predicate}::text)`)
  if (list.text != null) {
    const pattern = containing(list.text)
    conditions.push(sql`(f.subject ILIKE ${pattern}::text OR f.predicate ILIKE ${pattern}::text
                         OR f.object ILIKE ${pattern}::text)`)
  }
  if (list.observedAfter != null) conditions.push(sql`f.observed_at >= ${list.observedAfter}::timestamptz`)
  if (list.observedBefore != null) conditions.push(sql`f.observed_at < ${list.observedBefore}::timestamptz`)
  if (list.minConfidence != null) conditions.push(sql`f.confidence >= ${list.minConfidence}::double precision`)
  if (list.saidBy != null) conditions.push(sql`f.said_by::text = ANY (${list.saidBy}::text[])`)
  conditions.push(...between(list))
  return db.of(viewer.tenant).$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f WHERE ${join(conditions, ' AND ')}
    ORDER BY ${list.backwards ? oldestFirst : newestFirst} LIMIT ${list.limit}::integer`
}

/**
 * For each conversation, the newest facts with a visible source in it, newest first, at most `limit`. `listedIn` is the
 * id of that conversation. Uses the index fact_source_conversation.
 */
export function listFactsOfConversations(
  db: Db,
  viewer: Viewer,
  conversationIds: readonly string[],
  list: FactsOfConversation,
): Promise<(FactRow & { listedIn: string })[]> {
  return db.of(viewer.tenant).$queryRaw<(FactRow & { listedIn: string })[]>`
    SELECT f.*, v.id AS "listedIn" FROM (${views(viewer, among(conversationIds, howMany(conversationIds)))}) v
    CROSS JOIN LATERAL (
      SELECT ${FACT_COLUMNS} FROM fact f
      WHERE f.id IN (SELECT s.fact_id FROM fact_source s WHERE s.conversation_id = v.id AND ${visible('s')})
        ${list.includeSuperseded ? empty : sql`AND f.superseded_at IS NULL`}
        ${join(
          [raw('true'), ...between(list)].map((condition) => sql`AND ${condition}`),
          ' ',
        )}
      ORDER BY ${list.backwards ? oldestFirst : newestFirst} LIMIT ${list.limit}::integer) f`
}
