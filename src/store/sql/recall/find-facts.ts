// Which facts a search may be about: those that hold the query's words, those whose vectors are nearest to it, and the
// counts that words are judged by. All of it is of active facts that the viewer sees: what they do not see is in no
// count.

import type { Db } from '../../db.ts'
import type { SearchFilter } from '../../vector-search.ts'
import { vectorValue } from '../../vector.ts'
import { named, raw, sql, type Sql } from '../sql.ts'
import { filterOf, matchesAuthor } from './findable.ts'
import type { Scope } from './read-scope.ts'
import { factVisibleIn, views } from '../visible.ts'

type FactSearch = {
  scope: Scope
  /** The conversation; of OWNER, one of the owner's, or null for the viewer as the owner. */
  conversationId: string | null
  /** As they are stored: salted by the tenant. */
  terms: readonly number[]
  /** null finds by words alone. */
  vector: { embedder: string; query: Float32Array } | null
  /** By meaning, so many at most. */
  nearest: number
  filter: SearchFilter
}

type FoundFact = {
  id: string
  /** Terms of the whole sentence, as they are stored. */
  terms: number[]
  /** The greater of the cosines of its object and of its sentence; null where it has no vector, or none was given. */
  similarity: number | null
}

type FactFindings = {
  /** In the scope. */
  facts: number
  /** Of each term, the facts that hold it. */
  holding: number[]
  /** Terms in a fact, on average over those that hold any of the query's; 1 where none does. */
  averageLength: number
  /** Those that meet the filter, in no order. */
  found: FoundFact[]
}

/** Facts that are found by their words, at most. Where more hold any, */
const POSTINGS = 2_000
/** the terms are passed over that more than this share of the scope's facts hold; the last observed are found then. */
const COMMON = 0.1

/** The condition that fact `f` is in scope. */
function inScope(scope: Scope, viewer: { tenant: string; actor: string }, conversationId: string | null): Sql {
  if (scope === 'CONVERSATION') return sql`f.conversation_id = ${conversationId}::text`
  if (scope === 'TENANT') return sql`true`
  const owner = sql`coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = ${conversationId}::text AND o.tenant = ${viewer.tenant}::text),
    ${viewer.actor}::text)`
  return sql`(f.user_id = ${owner} OR f.conversation_id IN (
    SELECT o.id FROM conversation o WHERE o.tenant = ${viewer.tenant}::text AND o.owner = ${owner}))`
}

function statement(
  viewer: { tenant: string; actor: string },
  { scope, conversationId, terms, vector, nearest, filter }: FactSearch,
): Sql {
  const bound = filterOf(filter)
  const active = sql`f.tenant = ${viewer.tenant}::text AND f.superseded_at IS NULL
                     AND ${inScope(scope, viewer, conversationId)}`
  const conversationIds =
    scope === 'CONVERSATION'
      ? sql`c.id = ${conversationId}::text`
      : sql`c.id IN (SELECT f.conversation_id FROM fact f WHERE ${active})`
  return sql`${named(`find-facts-${scope.toLowerCase()}`)}
    WITH asked AS MATERIALIZED (SELECT ${vector && vectorValue(vector.query)}::vector AS vector
    ), v AS MATERIALIZED (${views(viewer, conversationIds)}), seen AS MATERIALIZED (
      SELECT f.id, f.terms, f.terms && ${terms}::integer[] AS matches, f.observed_at,
             greatest(-(x.object <#> (SELECT a.vector FROM asked a)), -(x.sentence <#> (SELECT a.vector FROM asked a))) AS similarity,
             (${bound.since}::timestamptz IS NULL OR f.observed_at >= ${bound.since}::timestamptz)
             AND (${bound.until}::timestamptz IS NULL OR f.observed_at < ${bound.until}::timestamptz)
             AND ((${bound.actors}::text[] IS NULL AND ${bound.roles}::role[] IS NULL AND ${bound.metadata}::jsonb IS NULL)
                  OR EXISTS (SELECT FROM turn t WHERE t.id = f.source_turn_id AND ${matchesAuthor(bound)})) AS eligible
      FROM fact f
      LEFT JOIN v ON v.id = f.conversation_id
      LEFT JOIN fact_vector x ON x.fact_id = f.id AND x.embedder = ${vector?.embedder ?? null}::text
      WHERE ${active} AND ${factVisibleIn('f', 'v')}
    ), scope AS MATERIALIZED (
      SELECT count(*)::integer AS facts, count(*) FILTER (WHERE s.matches AND s.eligible) AS matching,
             coalesce(avg(cardinality(s.terms)) FILTER (WHERE s.matches), 1)::float8 AS length
      FROM seen s
    ), held AS MATERIALIZED (
      SELECT q.place, q.term, count(s.id)::integer AS facts
      FROM unnest(${terms}::integer[]) WITH ORDINALITY AS q(term, place)
      LEFT JOIN seen s ON s.matches AND q.term = ANY (s.terms)
      GROUP BY q.place, q.term
    ), telling AS MATERIALIZED (
      SELECT coalesce(array_agg(h.term) FILTER (WHERE h.facts > 0 AND h.facts <= ${raw(String(COMMON))} * c.facts), '{}') AS terms
      FROM held h, scope c
    ), candidate AS (
      SELECT * FROM (
        SELECT s.id, s.terms, s.similarity FROM seen s, telling w, scope c
        WHERE s.matches AND s.eligible AND (c.matching <= ${POSTINGS}::integer OR w.terms = '{}' OR s.terms && w.terms)
        ORDER BY s.observed_at DESC, s.id LIMIT ${POSTINGS}::integer) by_words
      UNION
      SELECT * FROM (
        SELECT s.id, s.terms, s.similarity FROM seen s
        WHERE s.eligible AND s.similarity IS NOT NULL ORDER BY s.similarity DESC, s.id LIMIT ${nearest}::integer) by_vectors
    )
    SELECT c.facts, (SELECT array_agg(h.facts ORDER BY h.place) FROM held h) AS holding, c.length AS "averageLength",
           n.id, n.terms, n.similarity
    FROM scope c LEFT JOIN candidate n ON true`
}

/**
 * Facts of a conversation; of an owner's conversations and about that owner; or of the tenant. `filter`: its times are of when they
 * were observed; its actors, roles and metadata are of the turn that a fact was taken from, without which it meets
 * none.
 *
 * Reads all facts in the scope, by fact_conversation or by tenant, and compares all their vectors: exact, whatever the scope.
 * With vectors of 100 dimensions, a conversation of 2,000 facts takes 20 ms on Postgres and 25 to 50 ms embedded; 100,000 facts
 * take 0.3 s and 0.45 s.
 */
export async function findFacts(
  db: Db,
  viewer: { tenant: string; actor: string },
  search: FactSearch,
): Promise<FactFindings> {
  type Row = Omit<FactFindings, 'found' | 'holding'> & { holding: number[] | null } & (FoundFact | { id: null })
  const rows = await db.$queryRaw<Row[]>(statement(viewer, search))
  const [{ facts, holding, averageLength }] = rows as [Row]
  return {
    facts,
    holding: holding ?? [],
    averageLength,
    found: rows.flatMap((row) =>
      row.id === null ? [] : [{ id: row.id, terms: row.terms, similarity: row.similarity }],
    ),
  }
}
