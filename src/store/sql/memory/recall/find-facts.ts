// Searches the active facts in scope that the viewer sees. Reads the terms of the facts that contain a term of the
// query, and the facts whose vectors are nearest to it. Returns packed values in one row, because a name in the query
// may occur in every fact. Uses pg's named statements, because Prisma would convert each packed value.

import { TermCounter, type TermCounts } from '../../../../text/words/hashed-terms.ts'
import { createYield } from '../../../../runtime/yield.ts'
import { lengthAt, offsetOf, sizeOfArray } from '../../../vectors/binary-array.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import type { SearchFilter } from '../../../vectors/vector-search.ts'
import { vectorValue } from '../../../vectors/vector.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { filterParameters, filterValues, matchesAuthor } from './findable.ts'
import type { Scope } from './scope.ts'
import { factVisibleIn, VIEWER, views } from '../../kernel/visible.ts'

type FactSearch = {
  scope: Scope
  /** The conversation to search. For OWNER, any conversation of the owner, or null if the viewer is the owner. */
  conversationId: string | null
  /** For CONVERSATION: users whose facts are in scope, too. */
  users: readonly string[]
  /** The number of each term, by its hash as stored: salted by the tenant. */
  terms: ReadonlyMap<number, number>
  /** Null searches by terms only. */
  vector: { embedder: string; query: Float32Array } | null
  /** Maximum number of facts to find by vector. */
  nearest: number
  filter: SearchFilter
}

/** The facts that contain a term of the query, unordered. Arrays with the same index describe the same fact. */
export type MatchingFacts = {
  ids: readonly string[]
  counts: TermCounts
  /** Numbers of terms, repetitions included. */
  lengths: Int32Array
  /** 1 for a fact that matches the filter, otherwise 0. */
  eligible: Uint8Array
  /** The greater cosine similarity of the fact's two vectors; NaN if the fact or the query has no vector. */
  similarities: Float64Array
  /** Returns the terms of a fact, as stored. */
  termsOf(index: number): number[]
}

type FactFindings = {
  /** Number of facts in scope that the viewer sees. */
  facts: number
  matching: MatchingFacts
  /** The facts that are nearest to the query's vector and match the filter, nearest first. */
  nearest: { id: string; similarity: number }[]
}

const OWNER = sql`coalesce(
  (SELECT o.owner FROM conversation o WHERE o.id = $7::text AND o.tenant = $1::text), $2::text)`

/** The active facts `f` with these ids. The LIMIT keeps the planner from reading the facts of all tenants for a join. */
const withIds = (ids: Sql): Sql => sql`(${ids}) i CROSS JOIN LATERAL (
  SELECT f.* FROM fact f WHERE f.id = i.id AND f.tenant = $1::text AND f.superseded_at IS NULL LIMIT 1) f`

/** The active facts `f` in scope. Each uses $7, because Postgres must infer the types of all parameters. */
const IN_SCOPE: Record<Scope, Sql> = {
  CONVERSATION: withIds(sql`
    SELECT s.fact_id AS id FROM fact_source s WHERE s.conversation_id = $7::text
    UNION SELECT f.id FROM unnest($14::text[]) AS u(id)
    JOIN fact f ON f.tenant = $1::text AND f.user_id = u.id AND f.superseded_at IS NULL`),
  TENANT: sql`(
    SELECT f.* FROM fact f WHERE f.tenant = $1::text AND f.superseded_at IS NULL AND ($7::text IS NULL OR true)) f`,
  OWNER: withIds(sql`
    SELECT f.id FROM fact f WHERE f.tenant = $1::text AND f.user_id = ${OWNER} AND f.superseded_at IS NULL
    UNION SELECT s.fact_id FROM conversation o JOIN fact_source s ON s.conversation_id = o.id
    WHERE o.tenant = $1::text AND o.owner = ${OWNER}`),
}

const FILTER = filterParameters(8)

const statement = (scope: Scope): string =>
  sql`
    WITH input AS MATERIALIZED (SELECT $3::vector AS vector),
    facts AS MATERIALIZED (
      SELECT f.id, f.conversation_id, f.root_seq, f.seq, f.audience, f.observed_at, f.created_at, f.terms
      FROM ${IN_SCOPE[scope]}),
    v AS MATERIALIZED (${views(VIEWER, raw('c.id IN (SELECT f.conversation_id FROM facts f)'))}),
    seen AS MATERIALIZED (
      SELECT f.id, CASE WHEN f.terms && $5::integer[] THEN f.terms END AS terms,
             greatest(-(x.object <#> (SELECT a.vector FROM input a)), -(x.sentence <#> (SELECT a.vector FROM input a))) AS similarity,
             (${FILTER.since}::timestamptz IS NULL OR f.observed_at >= ${FILTER.since}::timestamptz)
             AND (${FILTER.until}::timestamptz IS NULL OR f.observed_at < ${FILTER.until}::timestamptz)
             AND (${FILTER.writtenBy}::timestamptz IS NULL OR f.created_at <= ${FILTER.writtenBy}::timestamptz)
             AND ((${FILTER.actors}::text[] IS NULL AND ${FILTER.roles}::role[] IS NULL AND ${FILTER.metadata}::jsonb IS NULL)
                  OR EXISTS (SELECT FROM fact_source s
                             JOIN turn t ON t.id = s.turn_id AND t.conversation_id = s.conversation_id
                             WHERE s.fact_id = f.id AND ${matchesAuthor(FILTER)})) AS eligible
      FROM facts f
      LEFT JOIN v ON v.id = f.conversation_id
      LEFT JOIN LATERAL (
        SELECT x.object, x.sentence FROM fact_vector x WHERE x.fact_id = f.id AND x.embedder = $4::text LIMIT 1) x ON true
      WHERE ${factVisibleIn(VIEWER, 'f', 'v')})
    SELECT m.*, (
      SELECT json_agg(json_build_object('id', n.id, 'similarity', n.similarity) ORDER BY n.similarity DESC, n.id) FROM (
        SELECT s.id, s.similarity FROM seen s
        WHERE s.eligible AND s.similarity IS NOT NULL ORDER BY s.similarity DESC, s.id LIMIT $6::integer) n) AS nearest
    FROM (
      SELECT count(*)::integer AS facts, string_agg(s.id, ' ') FILTER (WHERE s.terms IS NOT NULL) AS ids,
             string_agg(array_send(s.terms), '') FILTER (WHERE s.terms IS NOT NULL) AS terms,
             string_agg(int2send(s.eligible::integer::smallint) || float8send(coalesce(s.similarity, 'NaN')), '')
               FILTER (WHERE s.terms IS NOT NULL) AS signals
      FROM seen s) m`.text

const STATEMENTS = {
  CONVERSATION: { name: 'find-facts-conversation', text: statement('CONVERSATION') },
  OWNER: { name: 'find-facts-owner', text: statement('OWNER') },
  TENANT: { name: 'find-facts-tenant', text: statement('TENANT') },
}

/** The result of a statement. `terms` are in the format of array_send; `signals` has SIGNAL_BYTES for each fact. */
type Packed = { facts: number; nearest: FactFindings['nearest'] | null } & (
  | { ids: string; terms: Buffer; signals: Buffer }
  | { ids: null }
)

/** Size of a fact's `eligible` and similarity. */
const SIGNAL_BYTES = 10
/** Number of facts after which unpacking checks whether to yield to the event loop. */
const YIELD_AFTER = 256

const NONE: MatchingFacts = {
  ids: [],
  counts: new TermCounter(new Map(), 0).finish(),
  lengths: new Int32Array(),
  eligible: new Uint8Array(),
  similarities: new Float64Array(),
  termsOf: () => [],
}

async function unpack(packed: Packed, requested: ReadonlyMap<number, number>): Promise<MatchingFacts> {
  if (packed.ids === null) return NONE
  const { terms, signals } = packed
  const ids = packed.ids.split(' ')
  const offsets = new Int32Array(ids.length)
  const lengths = new Int32Array(ids.length)
  const eligible = new Uint8Array(ids.length)
  const similarities = new Float64Array(ids.length)
  const counter = new TermCounter(requested, ids.length)
  const termAt = (index: number, n: number) => terms.readInt32BE(offsets[index]! + offsetOf(n, 4))
  const yieldIfDue = createYield()
  let at = 0
  for (let index = 0; index < ids.length; index++) {
    if (index % YIELD_AFTER === 0) await yieldIfDue()
    offsets[index] = at
    const length = (lengths[index] = lengthAt(terms, at))
    for (let n = 0; n < length; n++) counter.add(termAt(index, n))
    counter.endText()
    at += sizeOfArray(length, 4)
    eligible[index] = signals.readInt16BE(index * SIGNAL_BYTES)
    similarities[index] = signals.readDoubleBE(index * SIGNAL_BYTES + 2)
  }
  const termsOf = (index: number) => Array.from({ length: lengths[index]! }, (_, n) => termAt(index, n))
  return { ids, counts: counter.finish(), lengths, eligible, similarities, termsOf }
}

/**
 * Searches the facts of a conversation (and about the given users), of an owner (of the owner's conversations and about the owner), or of the
 * tenant. The filter's `since` and `until` apply to `observedAt`; its actors, roles and metadata apply to the fact's
 * source turns, so a fact without a source turn does not match them.
 *
 * Always exact: reads all facts in scope, by the indexes fact_source_conversation and fact_user or by tenant, and
 * compares all vectors.
 */
export async function findFacts(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  { scope, conversationId, users, terms, vector, nearest, filter }: FactSearch,
): Promise<FactFindings> {
  const { rows } = await pool.query<Packed>({
    scope: viewer.tenant,
    ...STATEMENTS[scope],
    values: [
      viewer.tenant,
      viewer.actor,
      vector && vectorValue(vector.query),
      vector?.embedder ?? null,
      [...terms.keys()],
      nearest,
      conversationId,
      ...filterValues(filter),
      ...(scope === 'CONVERSATION' ? [users] : []),
    ],
  })
  const [row] = rows as [Packed]
  return { facts: row.facts, matching: await unpack(row, terms), nearest: row.nearest ?? [] }
}
