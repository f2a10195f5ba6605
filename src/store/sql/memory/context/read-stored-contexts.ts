// Reads stored contexts for the actors in whose views they were built, without the messages that are gone or have a
// source that the actor no longer sees.

import type { Pool } from '../../../db/tenant-pool.ts'
import { sql, parameter, raw, type Sql } from '../../kernel/sql.ts'
import { factVisible, present, VIEWER, views, visible } from '../../kernel/visible.ts'
import type { Viewer } from '../../../db/scope.ts'

export type StoredContextRow = {
  id: string
  conversationId: string
  asOfSeq: number
  tokenBudget: number
  tokenCount: number
  stablePrefixTokens: number
  truncated: boolean
  /** JSON text. */
  items: string
  createdAt: Date
  /** The messages as a JSON array in order, with null for those to leave out. */
  messages: string
  /** The ids of the sources that are gone or not seen, in the order of their messages. Profiles have derived ids. */
  lost: string[]
}

/** Whether the actor sees the source `s` of context `x`, whose view is `v`. */
const sourceVisible: Sql = sql`CASE
  WHEN starts_with(s.source_id, 'turn_') THEN EXISTS (
    SELECT FROM turn t
    JOIN LATERAL (${views(VIEWER, raw('c.id = t.conversation_id'))}) w ON true
    WHERE t.id = s.source_id AND t.conversation_id = coalesce(s.conversation_id, x.conversation_id)
      AND ${visible('t', 'w')})
  WHEN starts_with(s.source_id, 'fact_') THEN EXISTS (
    SELECT FROM fact f WHERE f.id = s.source_id AND ${factVisible(VIEWER)}
      AND (${parameter(4)}::text[] IS NULL OR f.conversation_id = ANY (${parameter(4)}::text[])))
  WHEN starts_with(s.source_id, 'sum_') THEN EXISTS (
    SELECT FROM summary m WHERE m.id = s.source_id AND width_bucket(m.from_seq, v.windows) % 2 = 1
      AND width_bucket(m.newest_seq, v.windows) = width_bucket(m.from_seq, v.windows))
  WHEN starts_with(s.source_id, 'state_') THEN ${present()}
  ELSE ${parameter(4)}::text[] IS NULL END
  AND (s.conversation_id IS NULL OR ${parameter(4)}::text[] IS NULL OR s.conversation_id = ANY (${parameter(4)}::text[]))`

const STATEMENT = sql`
  SELECT x.id, x.conversation_id AS "conversationId", x.as_of_seq AS "asOfSeq", x.token_budget AS "tokenBudget",
         x.token_count AS "tokenCount", x.stable_prefix_tokens AS "stablePrefixTokens", x.truncated, x.items,
         x.created_at AS "createdAt", m.messages, coalesce(l.lost, '{}') AS lost
  FROM stored_context x
  JOIN LATERAL (${views(VIEWER, raw('c.id = x.conversation_id'))}) v ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(s.source_id ORDER BY s.index, s.source_id COLLATE "C") AS lost, array_agg(s.index) AS indices
    FROM stored_context_source s WHERE s.context_id = x.id AND (s.gone OR NOT coalesce(${sourceVisible}, false))) l ON true
  CROSS JOIN LATERAL (
    SELECT '[' || coalesce(string_agg(
             CASE WHEN m.body IS NULL OR m.index = ANY (l.indices) THEN 'null' ELSE m.body END, ',' ORDER BY m.index), '')
           || ']' AS messages
    FROM stored_context_message m WHERE m.context_id = x.id) m
  WHERE x.id = ANY ($3::text[]) AND x.tenant = $1::text AND x.actor = $2::text`.text

/**
 * The contexts among the ids that were built in the viewer's view and whose conversations the viewer sees, unordered.
 * Uses primary keys.
 * @param reach the only conversations that the viewer's credential may read; null for all
 */
export async function readStoredContexts(
  pool: Pool,
  viewer: Viewer,
  ids: readonly string[],
  reach: readonly string[] | null,
): Promise<StoredContextRow[]> {
  const { rows } = await pool.query<StoredContextRow>({
    scope: viewer.tenant,
    name: 'read-stored-contexts',
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, ids, reach],
  })
  return rows
}

/** A turn that was generated from a context, at its place in the order of replies. */
export type ReplyRow = { sourceId: string; id: string; createdAt: Date }
type ReplyBounds = { limit: number; after: ReplyPosition | null; before: ReplyPosition | null; backwards: boolean }
export type ReplyPosition = Pick<ReplyRow, 'id' | 'createdAt'>

// A null bound of the page is replaced by a time before or after all others.
const REPLIES = (direction: 'ASC' | 'DESC') =>
  sql`
  SELECT i.id AS "sourceId", r.id, r.created_at AS "createdAt"
  FROM unnest($3::text[]) AS i(id)
  CROSS JOIN LATERAL (
    SELECT t.id, t.created_at
    FROM (SELECT DISTINCT s.context_id AS id FROM stored_context_source s
          WHERE s.source_id = i.id AND s.tenant = $1::text AND NOT s.gone) u
    JOIN stored_context x ON x.id = u.id
    JOIN turn t ON t.conversation_id = x.conversation_id AND t.context_id = x.id
    JOIN LATERAL (${views(VIEWER, raw('c.id = t.conversation_id'))}) v ON true
    WHERE ${visible()} AND (t.created_at, t.id) > ($4::timestamptz, $5::text)
      AND (t.created_at, t.id) < ($6::timestamptz, $7::text)
    ORDER BY t.created_at ${raw(direction)}, t.id ${raw(direction)} LIMIT $8::integer) r
  ORDER BY i.id, r.created_at ${raw(direction)}, r.id ${raw(direction)}`.text
const FORWARDS = REPLIES('ASC')
const BACKWARDS = REPLIES('DESC')

/**
 * The turns that the viewer sees and that were generated from a stored context with the source: at most `limit` for
 * each source, in the order of `createdAt`, or newest first if `backwards`. Uses the indexes
 * stored_context_source_source and turn_context, and reads all stored contexts with the source.
 */
export async function readReplies(
  pool: Pool,
  viewer: Viewer,
  sourceIds: readonly string[],
  { limit, after, before, backwards }: ReplyBounds,
): Promise<ReplyRow[]> {
  const { rows } = await pool.query<ReplyRow>({
    scope: viewer.tenant,
    name: backwards ? 'read-replies-backwards' : 'read-replies',
    text: backwards ? BACKWARDS : FORWARDS,
    values: [
      viewer.tenant,
      viewer.actor,
      sourceIds,
      after?.createdAt ?? '-infinity',
      after?.id ?? '',
      before?.createdAt ?? 'infinity',
      before?.id ?? '',
      limit,
    ],
  })
  return rows
}
