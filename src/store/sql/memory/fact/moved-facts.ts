// Moves the facts of a conversation to the visibility set that its changed visibility requires. The caller has locked
// the conversation's journal, then the facts (`lockFactsOfConversation` or `lockForOpening`).

import type { Tx } from '../../../db/db.ts'
import { sql, type Sql } from '../../kernel/sql.ts'

/** Ids of the given facts that have a source outside the conversation. */
export async function readFactsFromElsewhere(
  tx: Tx,
  factIds: readonly string[],
  conversationId: string,
): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT s.fact_id AS id FROM fact_source s
    WHERE s.fact_id = ANY (${factIds}::text[]) AND s.conversation_id IS DISTINCT FROM ${conversationId}::text`
  return rows.map(({ id }) => id)
}

/**
 * Copies facts to the visibility set of the MEMBERS conversation, with their sources in this conversation. A copy has
 * the same `superseded_by` as its original. The caller calls `updateSourceColumns` for the copies.
 */
export async function copyToMembers(
  tx: Tx,
  copies: readonly { from: string; to: string }[],
  conversationId: string,
): Promise<void> {
  if (copies.length === 0) return
  const [from, to] = [copies.map((copy) => copy.from), copies.map((copy) => copy.to)]
  await tx.$executeRaw`
    INSERT INTO fact (id, tenant, user_id, conversation_id, root_seq, seq, audience, visibility, source_turn_id, said_by,
                      asserted_by, subject, predicate, object, confidence, token_count, content_hash, observed_at,
                      imported_at, created_at, superseded_by, superseded_at, supersede_reason, supersede_note, contradicted_from, valid_from,
                      valid_to, recalled_at, recalled_on, recall_days, terms, asserted_at, restored_at, restore_note)
    SELECT c.to_id, f.tenant, f.user_id, f.conversation_id, f.root_seq, f.seq, f.audience,
           concat_ws(' ', ${conversationId}::text, nullif(f.visibility, '')), f.source_turn_id, f.said_by, f.asserted_by,
           f.subject, f.predicate, f.object, f.confidence, f.token_count, f.content_hash, f.observed_at, f.imported_at,
           f.created_at, f.superseded_by, f.superseded_at, f.supersede_reason, f.supersede_note, f.contradicted_from,
           f.valid_from, f.valid_to, f.recalled_at, f.recalled_on, f.recall_days, f.terms,
           f.asserted_at, f.restored_at, f.restore_note
    FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id) JOIN fact f ON f.id = c.from_id`
  await tx.$executeRaw`
    INSERT INTO fact_source (fact_id, source, conversation_id, root_seq, seq, audience, turn_id, said_by, asserted_by,
                             confidence, observed_at, imported_at, assertions, created_at, fact_created_at)
    SELECT c.to_id, s.source, s.conversation_id, s.root_seq, s.seq, s.audience, s.turn_id, s.said_by, s.asserted_by,
           s.confidence, s.observed_at, s.imported_at, s.assertions, s.created_at, s.fact_created_at
    FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id)
    JOIN fact_source s ON s.fact_id = c.from_id AND s.conversation_id = ${conversationId}::text`
}

/** Moves facts to the visibility set of their MEMBERS conversation. */
export async function moveToMembers(tx: Tx, factIds: readonly string[], conversationId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE fact f SET visibility = concat_ws(' ', ${conversationId}::text, nullif(f.visibility, '')), reconciled_at = NULL
    WHERE f.id = ANY (${factIds}::text[])`
}

/** In `superseded_by` of the given facts, replaces each original by its copy. */
export async function supersedeByCopies(
  tx: Tx,
  factIds: readonly string[],
  copies: readonly { from: string; to: string }[],
): Promise<void> {
  if (copies.length === 0) return
  const [from, to] = [copies.map((copy) => copy.from), copies.map((copy) => copy.to)]
  await tx.$executeRaw`
    UPDATE fact f SET superseded_by = c.to_id
    FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id)
    WHERE f.id = ANY (${factIds}::text[]) AND f.superseded_by = c.from_id`
}

/** Ids of the given facts that were superseded by a fact that is not among them. */
export async function readSupersededFromOutside(tx: Tx, factIds: readonly string[]): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id FROM fact f
    WHERE f.id = ANY (${factIds}::text[]) AND f.superseded_by IS NOT NULL AND NOT f.superseded_by = ANY (${factIds}::text[])`
  return rows.map(({ id }) => id)
}

/**
 * Facts `f` with a source in the conversation, each with the active fact `a` that it would duplicate if the
 * conversation were OPEN.
 */
const duplicatesIfOpen = (conversationId: string): Sql => sql`
  FROM fact f
  LEFT JOIN fact a ON a.tenant = f.tenant AND a.superseded_at IS NULL AND f.superseded_at IS NULL AND a.id <> f.id
    AND coalesce(a.user_id, a.conversation_id, '') = coalesce(f.user_id, f.conversation_id, '')
    AND a.visibility = ltrim(replace(f.visibility, ${conversationId}::text, '')) AND a.content_hash = f.content_hash
  WHERE f.id IN (SELECT s.fact_id FROM fact_source s WHERE s.conversation_id = ${conversationId}::text)`

/**
 * Locks the facts of a MEMBERS conversation, and the active facts that they would duplicate if the conversation were
 * OPEN, in the lock order of write-facts.ts. Returns the pairs of duplicates.
 */
export async function lockForOpening(tx: Tx, conversationId: string): Promise<{ id: string; duplicateOf: string }[]> {
  await tx.$queryRaw`
    SELECT x.id FROM fact x
    WHERE x.id IN (SELECT unnest(ARRAY[f.id, a.id]) ${duplicatesIfOpen(conversationId)})
    ORDER BY x.content_hash, x.id FOR UPDATE OF x`
  return tx.$queryRaw<{ id: string; duplicateOf: string }[]>`
    SELECT f.id, a.id AS "duplicateOf" ${duplicatesIfOpen(conversationId)} AND a.id IS NOT NULL`
}

/**
 * Moves the facts of a conversation that has become OPEN out of the conversation's visibility set. The caller has
 * superseded the facts that would be duplicates. Returns the ids of the facts.
 */
export async function moveToOpen(tx: Tx, conversationId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    UPDATE fact f SET visibility = ltrim(replace(f.visibility, ${conversationId}::text, '')), reconciled_at = NULL
    WHERE f.id IN (SELECT s.fact_id FROM fact_source s WHERE s.conversation_id = ${conversationId}::text)
    RETURNING f.id`
  return rows.map(({ id }) => id)
}

/** Copies the sources of each duplicate to the fact that it duplicates. */
export async function addSourcesOf(tx: Tx, duplicates: readonly { id: string; duplicateOf: string }[]): Promise<void> {
  if (duplicates.length === 0) return
  const [from, to] = [duplicates.map(({ id }) => id), duplicates.map(({ duplicateOf }) => duplicateOf)]
  await tx.$executeRaw`
    INSERT INTO fact_source (fact_id, source, conversation_id, root_seq, seq, audience, turn_id, said_by, asserted_by,
                             confidence, observed_at, imported_at, assertions, created_at, fact_created_at)
    SELECT c.to_id, s.source, s.conversation_id, s.root_seq, s.seq, s.audience, s.turn_id, s.said_by, s.asserted_by,
           s.confidence, s.observed_at, s.imported_at, s.assertions, s.created_at, f.created_at
    FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id) JOIN fact_source s ON s.fact_id = c.from_id
    JOIN fact f ON f.id = c.to_id
    ON CONFLICT DO NOTHING`
}
