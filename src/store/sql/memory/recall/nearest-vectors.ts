// On Postgres, finds the turns nearest to a query vector, among the turns that the viewer may find. The approximate
// search reads the embedder's HNSW indexes, and the vectors that none of them covers. The exact search compares all
// vectors of the conversations; with a filter, only those of matching turns. It reads no vectors of other
// conversations, because the key of turn_vector begins with the conversation.

import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Db } from '../../../db/db.ts'
import { vectorValue } from '../../../vectors/vector.ts'
import type { FoundTurn, SearchFilter } from '../../../vectors/vector-search.ts'
import type { Cover, NumberRange } from '../../../vectors/vector-segments.ts'
import { join, named, raw, sql, type Sql } from '../../kernel/sql.ts'
import { filterOf, findableAt, hasConditions, matches } from './findable.ts'
import { newest, views, visible } from '../../kernel/visible.ts'

type Nearest = {
  embedder: string
  viewer: { tenant: string; actor: string }
  conversationIds: readonly string[]
  query: Float32Array
  limit: number
  filter: SearchFilter
}

/**
 * Limits of hnsw.ef_search, the size of the candidate queue. `large` is the minimum for indexes of more than LARGE_ROWS
 * vectors: of 100,000 vectors, a queue of 200 finds 0.94 of the ten nearest ones, and one of 400 finds 0.98 in 1.8 times
 * the time (`npm run bench -- import`).
 */
const EF_SEARCH = { min: 200, large: 400, max: 1000 }
const LARGE_ROWS = 50_000

/** The query vector. Bound only once per statement, because its text has several kilobytes. */
const input = (query: Float32Array): Sql => sql`input AS MATERIALIZED (SELECT ${vectorValue(query)}::halfvec AS vector)`

// A subquery is evaluated once; a cast in ORDER BY would be evaluated for each row.
const distance = raw('x.embedding <#> (SELECT a.vector FROM input a)')

const columns = sql`
  x.conversation_id AS "conversationId", x.root_seq AS "position", x.seq, -(${distance}) AS similarity`

/** Sorts the turns by distance and returns the first `limit` ones that the viewer may find. */
const allByDistance = ({ embedder, viewer, conversationIds, query, limit, filter }: Nearest): Sql => sql`
  ${named('nearest-of-all')}
  WITH ${input(query)}
  SELECT x.conversation_id AS "conversationId", x.root_seq AS "position", x.seq, -x.distance AS similarity
  FROM (
    SELECT x.conversation_id, x.root_seq, x.seq, ${distance} AS distance
    FROM turn_vector x
    WHERE x.conversation_id = ANY (${conversationIds}::text[]) AND x.embedder = ${embedder}::text
    ORDER BY distance OFFSET 0) x
  CROSS JOIN ${findableAt('x', viewer, filterOf(filter))} f
  ORDER BY x.distance LIMIT ${limit}::integer`

/** Filters the turns before comparing vectors, because few turns may match. The planner can estimate their number. */
const filteredFirst = ({ embedder, viewer, conversationIds, query, limit, filter }: Nearest): Sql => sql`
  ${named('nearest-filtered')}
  WITH ${input(query)}
  SELECT ${columns}
  FROM (${views(viewer, sql`c.id = ANY (${conversationIds}::text[])`)}) v
  JOIN turn t ON t.conversation_id = v.id
  JOIN turn_vector x ON x.conversation_id = t.conversation_id AND x.embedder = ${embedder}::text
                    AND x.root_seq = t.root_seq AND x.seq = t.seq
  WHERE t.status = 'COMMITTED' AND ${matches(filterOf(filter))} AND ${visible()} AND ${newest()}
  ORDER BY ${distance} LIMIT ${limit}::integer`

/** Exact search, nearest first. */
export const nearestOfAll = (db: Db, search: Nearest): Promise<FoundTurn[]> =>
  db
    .of(search.viewer.tenant)
    .$queryRaw<FoundTurn[]>(hasConditions(search.filter) ? filteredFirst(search) : allByDistance(search))

/** The embedder's vectors in the scope, as the subquery of a search by index. */
type Part = { embedder: Sql; inScope: Sql; findable: Sql; limit: number }

/** The condition that a vector is in the range, equal to the predicate of the range's index. */
const inRange = ({ from, to }: NumberRange): string =>
  `x.number >= ${from}::bigint${to === Infinity ? '' : ` AND x.number < ${to}::bigint`}`

/** The best turns of a segment, by its index. */
const ofSegment = (
  { embedder, inScope, findable, limit }: Part,
  range: NumberRange,
  half: Sql,
  settings: Sql,
): Sql => sql`(
  SELECT x.conversation_id, x.root_seq, x.seq, x.embedding
  FROM turn_vector x
  CROSS JOIN ${findable} f
  WHERE x.embedder = ${embedder} AND ${raw(inRange(range))} AND ${inScope}
  ORDER BY x.embedding::${half} <#> (SELECT a.vector::${half} FROM input a, ${settings})
  LIMIT ${limit}::integer)`

/** The best turns that no segment covers, by comparing all of them. Uses the index turn_vector_number. */
const ofGaps = ({ embedder, inScope, findable, limit }: Part, gaps: readonly NumberRange[]): Sql => sql`(
  SELECT x.conversation_id, x.root_seq, x.seq, x.embedding
  FROM (
    SELECT x.conversation_id, x.root_seq, x.seq, x.embedding
    FROM turn_vector x
    WHERE x.embedder = ${embedder} AND (${raw(gaps.map((gap) => `(${inRange(gap)})`).join(' OR '))}) AND ${inScope}
    ORDER BY ${distance} OFFSET 0) x
  CROSS JOIN ${findable} f
  LIMIT ${limit}::integer)`

/**
 * Searches the segments' indexes and compares the other vectors, then sorts the candidates by exact distance. May
 * return fewer than `limit` turns even if more match.
 *
 * The embedder's name and the ranges are literals in the SQL, so that the planner can use the partial indexes. The
 * subquery that selects the query vector also changes the HNSW settings: it runs once for each segment, before its index
 * is read, and its changes apply to this statement only. The CASE keeps the planner from estimating how many rows the
 * conversations have, so that the statement looks up the conversation of each row in a hash table.
 */
export function nearestByIndex(db: Db, search: Nearest, { segments, gaps }: Cover): Promise<FoundTurn[]> {
  const { embedder, viewer, conversationIds, query, limit, filter } = search
  const half = raw(`halfvec(${query.length})`)
  const ranges = [...segments, ...gaps].map(({ from, to }) => `${from}-${to}`).join()
  const hash = createHash('md5').update(`${embedder} ${query.length} ${ranges}`).digest('hex').slice(0, 16)
  const minimum = segments.some(({ rows }) => rows > LARGE_ROWS) ? EF_SEARCH.large : EF_SEARCH.min
  const efSearch = String(Math.min(Math.max(2 * limit, minimum), EF_SEARCH.max))
  const settings = sql`(
    SELECT set_config('hnsw.ef_search', ${efSearch}::text, true),
           set_config('hnsw.iterative_scan', 'relaxed_order', true)) AS settings`
  const part: Part = {
    embedder: raw(pg.escapeLiteral(embedder)),
    inScope: sql`CASE WHEN x.conversation_id IN (SELECT s.id FROM scope s) THEN true ELSE false END`,
    findable: findableAt('x', viewer, filterOf(filter)),
    limit: 2 * limit + 20,
  }
  const parts = [...segments.map((segment) => ofSegment(part, segment, half, settings)), ofGaps(part, gaps)]
  return db.of(search.viewer.tenant).$queryRaw<FoundTurn[]>`
    ${named(`nearest-by-index-${hash}`)}
    WITH ${input(query)}, scope AS MATERIALIZED (SELECT unnest(${conversationIds}::text[]) AS id)
    SELECT ${columns} FROM (${join(parts, ' UNION ALL ')}) x
    ORDER BY ${distance} LIMIT ${limit}::integer`
}
