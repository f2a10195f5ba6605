// Reads the data of one user for an export, in the view of that user: the turns by the user, for the user or mentioning
// the user, the shared state that the user wrote, and the facts about the user or asserted by the user. Uses the fragments
// of visible.ts, as every read does.

import type { Pool } from '../../../db/tenant-pool.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { factVisible, fromVisibleSources, stateVisible, VIEWER, views, visible } from '../../kernel/visible.ts'
import { FACT, FACT_SOURCE, objectOf, selectList, SHARED_STATE, TURN } from './columns.ts'
import type { ExportedObject } from './exported-conversation.ts'
import { factOf, type FactPlace } from './exported-memory.ts'
import type { Viewer } from '../../../db/scope.ts'

// The sums are computed on references to large values. Only the rows that are returned are read in full.
const TURNS = sql`
  SELECT t.seq, ${selectList(TURN, 't')} FROM (
    SELECT z.*, sum(z.bytes) OVER (ORDER BY z.root_seq, z.seq ROWS UNBOUNDED PRECEDING) - z.bytes AS before
    FROM (
      SELECT t.*, 512 + octet_length(t.text) + coalesce(octet_length(t.parts::text), 0)
                  + coalesce(octet_length(t.metadata::text), 0) + coalesce(octet_length(t.sources::text), 0) AS bytes
      FROM (${views(VIEWER, raw('c.id = $3::text'))}) v JOIN turn t ON t.conversation_id = v.id
      WHERE ${visible()} AND (t.root_seq, t.seq) > ($4::integer, $5::integer) AND t.status <> 'STREAMING'
        AND (t.actor = $2::text OR $2::text = ANY (t.audience) OR $2::text = ANY (t.mentions))
      ORDER BY t.root_seq, t.seq LIMIT $6::integer) z) t
  WHERE t.before < $7::bigint
  ORDER BY t.root_seq, t.seq`.text

export type OwnTurns = {
  conversationId: string
  after: { position: number; seq: number }
  limit: number
  bytes: number
}

/** Versions of turns in the order of the history, without open ones. Uses the index turn_place. */
export async function readOwnTurns(
  pool: Pool,
  { tenant, actor }: Viewer,
  { conversationId, after, limit, bytes }: OwnTurns,
): Promise<(ExportedObject & { seq: number })[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-own-turns',
    rowMode: 'array',
    text: TURNS,
    values: [tenant, actor, conversationId, after.position, after.seq, limit, bytes],
  })
  return rows.map((row) => ({ seq: row[0] as number, ...objectOf(TURN, row, 1) }))
}

const STATES = sql`
  SELECT ${selectList(SHARED_STATE, 's')}
  FROM (${views(VIEWER, raw('c.id = $3::text'))}) v JOIN shared_state s ON s.conversation_id = v.id
  WHERE ${stateVisible()} AND $2::text = ANY (s.writers || s.audience) OR s.writers = ARRAY[$2::text]
  ORDER BY s.key`.text

/**
 * The states that the user sees and has changed, or that are limited to the user among others; and those that only the
 * user has changed, also after it left.
 */
export async function readOwnSharedStates(
  pool: Pool,
  { tenant, actor }: Viewer,
  conversationId: string,
): Promise<ExportedObject[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-own-shared-states',
    rowMode: 'array',
    text: STATES,
    values: [tenant, actor, conversationId],
  })
  return rows.map((row) => objectOf(SHARED_STATE, row))
}

const FACTS = sql`
  SELECT ${selectList(FACT, 'f')}, ARRAY(
    SELECT jsonb_build_array(${selectList(FACT_SOURCE, 's')}) ${fromVisibleSources(VIEWER)}
    ORDER BY s.created_at, s.source COLLATE "C")
  FROM fact f
  WHERE f.tenant = $1::text AND (f.created_at, f.id) > ($3::timestamptz, $4::text) AND f.created_at <= $6::timestamptz
    AND (f.user_id = $2::text OR f.id IN (SELECT s.fact_id FROM fact_source s WHERE s.asserted_by = $2::text))
    AND ${factVisible(VIEWER)}
  ORDER BY f.created_at, f.id LIMIT $5::integer`.text

/** Facts in the order of creation, with those of their sources that the user sees. */
export async function readOwnFacts(
  pool: Pool,
  { tenant, actor }: Viewer,
  after: FactPlace,
  { limit, until }: { limit: number; until: Date },
): Promise<ExportedObject[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-own-facts',
    rowMode: 'array',
    text: FACTS,
    values: [tenant, actor, after.createdAt, after.id, limit, until],
  })
  return rows.map(factOf)
}
