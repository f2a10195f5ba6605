// Facts as far as a viewer sees them: by id, or listed, newest first.

import type { Pool } from 'pg'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'
import { among, factVisible, views, visible } from '../visible.ts'

type Viewer = { tenant: string; actor: string }

/** The visible ones among those facts, superseded or not, in no order. By primary key. */
export async function readFacts(pool: Pool, viewer: Viewer, ids: readonly string[]): Promise<FactRow[]> {
  const { rows } = await pool.query<FactRow>({
    name: 'read-facts',
    text: `SELECT ${FACT_COLUMNS} FROM fact f WHERE f.id = ANY ($3::text[]) AND ${factVisible('f', '$1', '$2')}`,
    values: [viewer.tenant, viewer.actor, ids],
  })
  return rows
}

/** A place in a list of facts. */
export type FactPlace = { createdAt: Date; id: string }

type FactsOfConversation = {
  limit: number
  /** After this one: older. */
  after?: FactPlace | null
  includeSuperseded?: boolean
}
type FactList = FactsOfConversation & {
  userId?: string | null
  conversationId?: string | null
  subject?: string | null
  predicate?: string | null
}

/**
 * The viewer's facts that match, newest first by when they were written; subject and predicate whatever their case.
 * Nothing that is written meanwhile moves one. By fact_conversation, fact_user or fact_newest.
 */
export async function listFacts(pool: Pool, viewer: Viewer, list: FactList): Promise<FactRow[]> {
  const values: unknown[] = [viewer.tenant, viewer.actor, list.limit]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = [factVisible('f', '$1', '$2')]
  if (!list.includeSuperseded) conditions.push('f.superseded_at IS NULL')
  if (list.userId != null) conditions.push(`f.user_id = ${parameter(list.userId)}::text`)
  if (list.conversationId != null) conditions.push(`f.conversation_id = ${parameter(list.conversationId)}::text`)
  if (list.subject != null) conditions.push(`lower(f.subject) = lower(${parameter(list.subject)}::text)`)
  if (list.predicate != null) conditions.push(`lower(f.predicate) = lower(${parameter(list.predicate)}::text)`)
  if (list.after) {
    const { createdAt, id } = list.after
    conditions.push(`(f.created_at, f.id) < (${parameter(createdAt)}::timestamptz, ${parameter(id)}::text)`)
  }
  const { rows } = await pool.query<FactRow>({
    // No name: with what is asked for, the plan changes.
    text: `SELECT ${FACT_COLUMNS} FROM fact f WHERE ${conditions.join(' AND ')}
           ORDER BY f.created_at DESC, f.id DESC LIMIT $3::integer`,
    values,
  })
  return rows
}

/** The newest of the viewer's facts of each conversation, in the same order, `limit` of each. By fact_conversation. */
export async function listFactsOfConversations(
  pool: Pool,
  viewer: Viewer,
  conversationIds: readonly string[],
  { limit, after, includeSuperseded }: FactsOfConversation,
): Promise<FactRow[]> {
  const values: unknown[] = [viewer.tenant, viewer.actor, conversationIds, limit]
  if (after) values.push(after.createdAt, after.id)
  const { rows } = await pool.query<FactRow>({
    // No name, for the same reason.
    text: `
      SELECT f.* FROM (${views('$1', '$2', among('$3', conversationIds.length === 1 ? 'one' : 'many'))}) v
      CROSS JOIN LATERAL (
        SELECT ${FACT_COLUMNS} FROM fact f
        WHERE f.conversation_id = v.id AND ${visible('f')}
          ${includeSuperseded ? '' : 'AND f.superseded_at IS NULL'}
          ${after ? 'AND (f.created_at, f.id) < ($5::timestamptz, $6::text)' : ''}
        ORDER BY f.created_at DESC, f.id DESC LIMIT $4::integer) f`,
    values,
  })
  return rows
}
