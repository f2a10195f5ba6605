// The nearest turns that a viewer may find, on Postgres: through the embedder's HNSW index, or by comparing all of the
// conversations' vectors (by the key of turn_vector, which begins with the conversation).

import { createHash } from 'node:crypto'
import pg, { type Pool } from 'pg'
import type { Found, SearchFilter } from '../../vector-search.ts'
import { vectorParameter } from '../../vector.ts'
import { asksAnything, filterValues, findableAt, meets } from './findable.ts'
import { newest, views, visible } from '../visible.ts'

type Nearest = {
  embedder: string
  viewer: { tenant: string; actor: string }
  conversationIds: readonly string[]
  query: Float32Array
  limit: number
  filter: SearchFilter
}

/**
 * Candidates that HNSW keeps in sight, at least and at most. With 200, of 100,000 x 384 it finds the true ten nearest.
 */
const EF_SEARCH = { least: 200, most: 1000 }

// Parameters of all statements: $1 tenant, $2 actor, $3 conversations, $4 query, $5 limit, $6 … $10 filter.
const values = ({ viewer, conversationIds, query, limit, filter }: Nearest) => [
  viewer.tenant,
  viewer.actor,
  conversationIds,
  vectorParameter(query),
  limit,
  ...filterValues(filter),
]

const columns = (x: string) => `
  ${x}.conversation_id AS "conversationId", ${x}.root_seq AS "rootSeq", ${x}.seq,
  -(${x}.embedding <#> (SELECT $4::vector)) AS similarity`

/** By distance, asking of each whether it may be found, until there are enough. */
const allByDistance = `
  SELECT x.conversation_id AS "conversationId", x.root_seq AS "rootSeq", x.seq, -x.distance AS similarity
  FROM (
    SELECT v.conversation_id, v.root_seq, v.seq, v.embedding <#> (SELECT $4::vector) AS distance
    FROM turn_vector v
    WHERE v.conversation_id = ANY ($3::text[]) AND v.embedder = $11::text
    ORDER BY distance OFFSET 0) x
  CROSS JOIN ${findableAt('x', '$1', '$2', 6)} f
  ORDER BY x.distance LIMIT $5::integer`

/** Turns that meet the filter first: they may be few, and the planner can tell. */
const filteredFirst = `
  SELECT ${columns('x')}
  FROM (${views('$1', '$2', 'c.id = ANY ($3::text[])')}) v
  JOIN turn t ON t.conversation_id = v.id
  JOIN turn_vector x ON x.conversation_id = t.conversation_id AND x.embedder = $11::text
                    AND x.root_seq = t.root_seq AND x.seq = t.seq
  WHERE t.status = 'COMMITTED' AND ${meets(6)} AND ${visible()} AND ${newest()}
  ORDER BY x.embedding <#> (SELECT $4::vector) LIMIT $5::integer`

/** Exact. */
export async function nearestOfAll(pool: Pool, asked: Nearest): Promise<Found[]> {
  const filtered = asksAnything(asked.filter)
  const { rows } = await pool.query<Found>({
    name: filtered ? 'nearest-filtered' : 'nearest-of-all',
    text: filtered ? filteredFirst : allByDistance,
    values: [...values(asked), asked.embedder],
  })
  return rows
}

/**
 * Through the index, and by exact distance among what it led to: perhaps fewer than there are.
 *
 * The embedder stands in the text, or the planner could not tell that its partial index serves. The settings are made
 * where the query vector is: once, before the index is read, for this statement only. The CASE hides from the planner
 * how few rows are of the conversations, and has their ids looked up in a hash.
 */
export async function nearestByIndex(pool: Pool, asked: Nearest): Promise<Found[]> {
  const { embedder, query, limit } = asked
  const half = `halfvec(${query.length})`
  const { rows } = await pool.query<Found>({
    name: `nearest-by-index-${createHash('md5').update(`${embedder} ${query.length}`).digest('hex').slice(0, 16)}`,
    text: `
      SELECT ${columns('x')}
      FROM (
        SELECT x.conversation_id, x.root_seq, x.seq, x.embedding
        FROM turn_vector x
        CROSS JOIN ${findableAt('x', '$1', '$2', 6)} f
        WHERE x.embedder = ${pg.escapeLiteral(embedder)}
          AND CASE WHEN x.conversation_id IN (SELECT unnest($3::text[])) THEN true ELSE false END
        ORDER BY x.embedding::${half} <#> (
          SELECT $4::vector::${half}
          FROM (SELECT set_config('hnsw.ef_search', $11::text, true),
                       set_config('hnsw.iterative_scan', 'relaxed_order', true)) AS settings)
        LIMIT $12::integer) x
      ORDER BY x.embedding <#> (SELECT $4::vector) LIMIT $5::integer`,
    values: [...values(asked), String(Math.min(Math.max(2 * limit, EF_SEARCH.least), EF_SEARCH.most)), 2 * limit + 20],
  })
  return rows
}
