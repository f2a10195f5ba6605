// Reads the facts that a viewer sees: by id, or as a list, newest first.

import type { Db, Tx } from '../../../db/db.ts'
import { IMPORTANCE, RATED_FACT_COLUMNS, type RatedFactRow } from './fact-columns.ts'
import type { ParticipantKind } from '../../../generated/enums.ts'
import { containing, join, named, raw, sql, type Sql } from '../../kernel/sql.ts'
import { among, factVisible, howMany, views, visible } from '../../kernel/visible.ts'
import type { Viewer } from '../../../db/scope.ts'

/** The visible facts among the ids, superseded or not, unordered. Uses the primary key. */
export const readFacts = (db: Tx, viewer: Viewer, ids: readonly string[]): Promise<RatedFactRow[]> =>
  db.$queryRaw<RatedFactRow[]>`${named('read-facts')}
    SELECT ${RATED_FACT_COLUMNS} FROM fact f WHERE f.id = ANY (${ids}::text[]) AND ${factVisible(viewer)}`

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
  minImportance?: number | null
  /** Only facts that were true at this time (`wasTrueAt`), those included that a later fact contradicted. */
  validAt?: Date | null
  saidBy?: readonly ParticipantKind[] | null
}

const place = ({ createdAt, id }: FactPosition): Sql => sql`(${createdAt}::timestamptz, ${id}::text)`

/** The columns of a list's order: those of fact `f`, or their copies in its source `s`. */
const OF_FACT = 'f.created_at, f.id'
const OF_SOURCE = 's.fact_created_at, s.fact_id'

/** The conditions that limit a list to the facts between the positions. */
function between({ after, before }: Pick<FactList, 'after' | 'before'>, columns: string): Sql[] {
  const conditions: Sql[] = []
  if (after) conditions.push(sql`(${raw(columns)}) < ${place(after)}`)
  if (before) conditions.push(sql`(${raw(columns)}) > ${place(before)}`)
  return conditions
}

/** The columns as ORDER BY: newest first, or oldest first if `backwards`. */
const inOrder = (columns: string, { backwards }: Pick<FactList, 'backwards'>): Sql =>
  raw(backwards ? columns : columns.replaceAll(/,|$/g, ' DESC$&'))

/**
 * The facts `f` with a source in the conversation, as FROM and ORDER BY: read in order from the index
 * fact_source_newest, until the statement's limit. The inner LIMIT keeps the planner from joining in another order.
 * @param source a condition on the source `s` @param fact a condition on the fact `f`
 */
const ofConversation = (conversationId: Sql, source: Sql, fact: Sql, list: FactsOfConversation): Sql => sql`
  FROM (
    SELECT DISTINCT ${raw(OF_SOURCE)} FROM fact_source s
    WHERE s.conversation_id = ${conversationId} AND ${join([source, ...between(list, OF_SOURCE)], ' AND ')}
    ORDER BY ${inOrder(OF_SOURCE, list)}) s
  CROSS JOIN LATERAL (SELECT f.* FROM fact f WHERE f.id = s.fact_id AND ${fact} LIMIT 1) f
  ORDER BY ${inOrder(OF_SOURCE, list)}`

/** Whether the time lies in the period of fact `f`; a period that was not stated began before all times. */
const isInPeriod = (time: Date, f: string): Sql => sql`(
  (${raw(f)}.valid_from IS NULL OR ${raw(f)}.valid_from <= ${time}::timestamptz)
  AND (${raw(f)}.valid_to IS NULL OR ${raw(f)}.valid_to > ${time}::timestamptz))`

/** Whether fact `f` was contradicted, and was true at the time, before the fact that contradicted it. */
const wasTrueBefore = (time: Date, f: string): Sql => sql`(
  ${raw(f)}.supersede_reason = 'CONTRADICTED' AND ${raw(f)}.contradicted_from > ${time}::timestamptz AND ${isInPeriod(time, f)})`

/**
 * Whether fact `f` was true at the time, as far as the viewer knows: it is active and its period contains the time, and
 * no fact that it contradicted was true then; or it was contradicted later. Uses the index fact_superseded_by.
 */
const wasTrueAt = (viewer: Viewer, time: Date): Sql => sql`(${wasTrueBefore(time, 'f')} OR (
  f.superseded_at IS NULL AND ${isInPeriod(time, 'f')} AND NOT EXISTS (
    SELECT FROM superseded_fact s JOIN fact l ON l.id = s.id
    WHERE s.superseded_by = f.id AND l.superseded_by = f.id AND ${wasTrueBefore(time, 'l')}
      AND ${factVisible(viewer, 'l')})))`

/**
 * The visible facts that match, in order of creation, newest first unless `backwards`; no write changes this order.
 * Compares texts ignoring case. Uses the index fact_source_newest, fact_user or fact_newest.
 */
export function pageFacts(db: Db, viewer: Viewer, list: FactList): Promise<RatedFactRow[]> {
  const conditions = [factVisible(viewer)]
  if (list.validAt != null) conditions.push(wasTrueAt(viewer, list.validAt))
  else if (!list.includeSuperseded) conditions.push(sql`f.superseded_at IS NULL`)
  if (list.userId != null) conditions.push(sql`f.user_id = ${list.userId}::text`)
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
  if (list.minImportance != null) conditions.push(sql`${IMPORTANCE} >= ${list.minImportance}::double precision`)
  if (list.saidBy != null) conditions.push(sql`f.said_by::text = ANY (${list.saidBy}::text[])`)
  const matches = join(conditions, ' AND ')
  const facts =
    list.conversationId == null
      ? sql`FROM fact f WHERE ${join([matches, ...between(list, OF_FACT)], ' AND ')} ORDER BY ${inOrder(OF_FACT, list)}`
      : ofConversation(sql`${list.conversationId}::text`, raw('true'), matches, list)
  return db.of(viewer.tenant).$queryRaw<
    RatedFactRow[]
  >`SELECT ${RATED_FACT_COLUMNS} ${facts} LIMIT ${list.limit}::integer`
}

/**
 * For each conversation, the newest facts with a visible source in it, newest first, at most `limit`. `listedIn` is the
 * id of that conversation. Uses the index fact_source_newest.
 */
export function pageFactsOfConversations(
  db: Db,
  viewer: Viewer,
  conversationIds: readonly string[],
  list: FactsOfConversation,
): Promise<(RatedFactRow & { listedIn: string })[]> {
  const active = raw(list.includeSuperseded ? 'true' : 'f.superseded_at IS NULL')
  return db.of(viewer.tenant).$queryRaw<(RatedFactRow & { listedIn: string })[]>`
    SELECT f.*, v.id AS "listedIn" FROM (${views(viewer, among(conversationIds, howMany(conversationIds)))}) v
    CROSS JOIN LATERAL (
      SELECT ${RATED_FACT_COLUMNS} ${ofConversation(raw('v.id'), visible('s'), active, list)}
      LIMIT ${list.limit}::integer) f`
}
