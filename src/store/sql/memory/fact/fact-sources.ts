// Adds and removes the sources of facts. A fact's row contains its first remaining source, and the most trusted
// assertion of the remaining sources. The caller has locked the facts, in the lock order of write-facts.ts.

import type { Tx } from '../../../db/db.ts'
import type { FactRow } from './fact-columns.ts'
import { sql, type Sql } from '../../kernel/sql.ts'

/**
 * Maximum number of sources of one fact in one conversation. Once it is reached, further assertions in that
 * conversation are not stored.
 */
export const MAX_SOURCES = 100

/** A source of the fact `id`. */
export type NewSource = Pick<
  FactRow,
  | 'id'
  | 'conversationId'
  | 'position'
  | 'seq'
  | 'audience'
  | 'sourceTurnId'
  | 'saidBy'
  | 'assertedBy'
  | 'confidence'
  | 'observedAt'
  | 'importedAt'
>

/**
 * Key of a source: the id of the turn version, else the conversation and seq of the entry that recorded the fact, else
 * one key for all facts recorded without a conversation.
 */
const sourceOf = ({ sourceTurnId, conversationId, seq }: NewSource): string =>
  sourceTurnId ?? (conversationId === null ? 'tenant' : `${conversationId} ${seq}`)

/**
 * Adds sources and returns the new ones. An existing source keeps its creation time, gets the later observation time,
 * and counts the new assertions. Uses the primary key.
 */
export async function addSources(
  tx: Tx,
  sources: readonly NewSource[],
): Promise<Pick<FactRow, 'id' | 'conversationId'>[]> {
  const distinct = new Map<string, NewSource & { source: string; assertions: number }>()
  for (const each of sources) {
    const source = sourceOf(each)
    const key = `${each.id} ${source}`
    distinct.set(key, { ...each, source, assertions: (distinct.get(key)?.assertions ?? 0) + 1 })
  }
  if (distinct.size === 0) return []
  const given = [...distinct.values()]
  const rows = await tx.$queryRaw<{ id: string; conversationId: string | null; isNew: boolean }[]>`
    INSERT INTO fact_source AS s (fact_id, source, conversation_id, root_seq, seq, audience, turn_id, said_by,
                                  asserted_by, confidence, observed_at, imported_at, assertions, fact_created_at)
    SELECT n.id, n.source, n."conversationId", n."position", n.seq, n.audience, n."sourceTurnId", n."saidBy",
           n."assertedBy", n.confidence, n."observedAt", n."importedAt", n.assertions, f.created_at
    FROM jsonb_to_recordset(${JSON.stringify(given)}::jsonb) AS n(
      id text, source text, "conversationId" text, "position" integer, seq integer, audience text[],
      "sourceTurnId" text, "saidBy" participant_kind, "assertedBy" text, confidence double precision,
      "observedAt" timestamptz, "importedAt" timestamptz, assertions integer)
    JOIN fact f ON f.id = n.id
    WHERE (SELECT count(*) FROM fact_source o
           WHERE o.fact_id = n.id AND o.conversation_id IS NOT DISTINCT FROM n."conversationId") < ${MAX_SOURCES}::integer
    ON CONFLICT (fact_id, source) DO UPDATE
    SET observed_at = greatest(s.observed_at, excluded.observed_at),
        imported_at = CASE WHEN excluded.observed_at > s.observed_at THEN excluded.imported_at ELSE s.imported_at END,
        assertions = s.assertions + excluded.assertions
    RETURNING s.fact_id AS id, s.conversation_id AS "conversationId", s.xmax = 0 AS "isNew"`
  return rows.filter(({ isNew }) => isNew).map(({ id, conversationId }) => ({ id, conversationId }))
}

/** Copies the sources of facts to newly inserted facts with the same text. Each new fact counts as asserted once. */
export async function copySources(tx: Tx, copies: readonly { from: string; to: string }[]): Promise<void> {
  if (copies.length === 0) return
  const [from, to] = [copies.map((copy) => copy.from), copies.map((copy) => copy.to)]
  await tx.$executeRaw`
    INSERT INTO fact_source (fact_id, source, conversation_id, root_seq, seq, audience, turn_id, said_by, asserted_by,
                             confidence, observed_at, imported_at, created_at, fact_created_at, assertions)
    SELECT c.to_id, s.source, s.conversation_id, s.root_seq, s.seq, s.audience, s.turn_id, s.said_by, s.asserted_by,
           s.confidence, s.observed_at, s.imported_at, s.created_at, f.created_at,
           (row_number() OVER (PARTITION BY c.to_id ORDER BY s.created_at, s.source) = 1)::integer
    FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id) JOIN fact_source s ON s.fact_id = c.from_id
    JOIN fact f ON f.id = c.to_id`
}

/** The sources to remove: all in a conversation, all in some turn versions, or all assertions of an actor. */
export type RemovedSources = { conversationId: string } | { turnIds: readonly string[] } | { assertedBy: string }

const isRemoved = (removed: RemovedSources, s: Sql): Sql =>
  'turnIds' in removed
    ? sql`coalesce(${s}.turn_id = ANY (${removed.turnIds}::text[]), false)`
    : 'assertedBy' in removed
      ? sql`${s}.asserted_by IS NOT DISTINCT FROM ${removed.assertedBy}::text`
      : sql`${s}.conversation_id IS NOT DISTINCT FROM ${removed.conversationId}::text`

/**
 * Removes the sources from the facts that have other sources. Such a fact's row then contains its first remaining
 * source, and the most trusted assertion of the remaining sources. An assertion by the user whom the fact is about is
 * the most trusted; the others are ordered by type of actor, then latest first.
 */
export async function removeSources(tx: Tx, factIds: readonly string[], removed: RemovedSources): Promise<void> {
  if (factIds.length === 0) return
  const keeps = sql`EXISTS (SELECT FROM fact_source o WHERE o.fact_id = s.fact_id AND NOT ${isRemoved(removed, sql`o`)})`
  await tx.$executeRaw`
    DELETE FROM fact_source s WHERE s.fact_id = ANY (${factIds}::text[]) AND ${isRemoved(removed, sql`s`)} AND ${keeps}`
  await updateSourceColumns(tx, factIds)
}

/**
 * Keeps the sources that `removeSources` will remove, for reads as of an earlier time. Only for an edit: erased sources
 * are not kept.
 */
export async function keepSources(tx: Tx, factIds: readonly string[], removed: RemovedSources): Promise<void> {
  if (factIds.length === 0) return
  await tx.$executeRaw`
    INSERT INTO former_state (tenant, relation, key, conversation_id, fact_id, until, state)
    SELECT s.tenant, 'removed_source', s.fact_id || ' ' || s.source, s.conversation_id, s.fact_id, now(), to_jsonb(s)
    FROM fact_source s
    WHERE s.fact_id = ANY (${factIds}::text[]) AND ${isRemoved(removed, sql`s`)}
      AND EXISTS (SELECT FROM fact_source o WHERE o.fact_id = s.fact_id AND NOT ${isRemoved(removed, sql`o`)})`
}

/**
 * Updates the columns that contain the first source and the most trusted assertion of each fact, and makes their
 * reconciliation due.
 */
export async function updateSourceColumns(tx: Tx, factIds: readonly string[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE fact f
    SET conversation_id = p.conversation_id, root_seq = p.root_seq, seq = p.seq, audience = p.audience,
        source_turn_id = p.turn_id, said_by = b.said_by, asserted_by = b.asserted_by, confidence = b.confidence,
        observed_at = b.observed_at, imported_at = b.imported_at, reconciled_at = NULL
    FROM unnest(${factIds}::text[]) AS a(id)
    CROSS JOIN LATERAL (SELECT * FROM fact_source s WHERE s.fact_id = a.id ORDER BY s.created_at, s.source LIMIT 1) p
    CROSS JOIN LATERAL (
      SELECT s.* FROM fact_source s JOIN fact o ON o.id = s.fact_id WHERE s.fact_id = a.id
      ORDER BY (s.said_by = 'HUMAN' AND s.asserted_by IS NOT DISTINCT FROM o.user_id) DESC, s.said_by,
               s.observed_at DESC, s.source LIMIT 1) b
    WHERE f.id = a.id`
}

/**
 * Locks the facts with a source in the turn version, and the duplicates that they superseded. Returns the ids of the
 * active facts with a source in the turn version.
 */
export async function lockFactsOfTurn(tx: Tx, turnId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string; isOfTurn: boolean }[]>`
    WITH mine AS MATERIALIZED (SELECT s.fact_id AS id FROM fact_source s WHERE s.turn_id = ${turnId}::text)
    SELECT f.id, f.id IN (SELECT id FROM mine) AND f.superseded_at IS NULL AS "isOfTurn"
    FROM fact f
    WHERE f.id IN (
      SELECT id FROM mine
      UNION SELECT d.id FROM mine JOIN fact d ON d.superseded_by = mine.id AND d.supersede_reason = 'DUPLICATED')
    ORDER BY f.content_hash, f.id FOR NO KEY UPDATE OF f`
  return rows.filter(({ isOfTurn }) => isOfTurn).map(({ id }) => id)
}

/**
 * Ids of the given facts that have one of the sources. After `removeSources`, these are the facts that have no other
 * source.
 */
export async function readFactsFrom(tx: Tx, factIds: readonly string[], removed: RemovedSources): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT s.fact_id AS id FROM fact_source s
    WHERE s.fact_id = ANY (${factIds}::text[]) AND ${isRemoved(removed, sql`s`)}`
  return rows.map(({ id }) => id)
}

/**
 * Ids of other facts that the given facts superseded, unordered. If `reasons` is not null, only those superseded for
 * one of these reasons. Uses the index fact_superseded_by.
 */
export async function readSupersededBy(
  tx: Tx,
  factIds: readonly string[],
  reasons: readonly NonNullable<FactRow['supersedeReason']>[] | null = null,
): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id FROM fact f
    WHERE f.superseded_by = ANY (${factIds}::text[]) AND NOT f.id = ANY (${factIds}::text[])
      AND (${reasons}::supersede_reason[] IS NULL OR f.supersede_reason = ANY (${reasons}::supersede_reason[]))`
  return rows.map(({ id }) => id)
}
