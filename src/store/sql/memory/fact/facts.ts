// Writes facts inside a transaction: inserts new facts, renews exact duplicates and records supersessions.
// Lock order, to avoid deadlocks: journals in order of conversation id, then facts in order of content hash and id.

import type { Tx } from '../../../db/db.ts'
import type { FactRow } from './fact-columns.ts'

type Restoration = Pick<FactRow, 'assertedAt' | 'restoredAt' | 'restoreNote'>

/** An active fact to insert. Without `assertedAt`, it is asserted now; without `restoredAt`, it was never restored. */
export type NewFact = Omit<
  FactRow,
  | 'createdAt'
  | 'supersededBy'
  | 'supersededAt'
  | 'supersedeReason'
  | 'supersedeNote'
  | 'contradictedFrom'
  | keyof Restoration
>
  & Partial<Restoration> & { terms: readonly number[] }

/** Identity of an active fact: no two of a tenant have the same user or conversation, visibility and content hash. */
export type FactKey = Pick<FactRow, 'userId' | 'conversationId' | 'visibility' | 'contentHash'>

/**
 * Inserts the facts that have no active exact duplicate, and returns their ids. Of duplicates in the input, only the
 * first is inserted. Waits for concurrent transactions that insert the same facts.
 */
export async function insertFacts(tx: Tx, tenant: string, facts: readonly NewFact[]): Promise<string[]> {
  if (facts.length === 0) return []
  // The statement inserts in order of key, so that two transactions that insert the same facts cannot deadlock.
  const numbered = JSON.stringify(facts.map((fact, index) => ({ ...fact, index })))
  const rows = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO fact (id, tenant, user_id, conversation_id, root_seq, seq, audience, visibility, source_turn_id,
                      said_by, asserted_by, subject, predicate, object, confidence, token_count, content_hash,
                      observed_at, imported_at, valid_from, valid_to, asserted_at, restored_at, restore_note, terms)
    SELECT n.id, ${tenant}::text, n."userId", n."conversationId", n."position", n.seq, n.audience, n.visibility,
           n."sourceTurnId", n."saidBy", n."assertedBy", n.subject, n.predicate, n.object, n.confidence,
           n."tokenCount", n."contentHash", n."observedAt", n."importedAt", n."validFrom", n."validTo",
           coalesce(n."assertedAt", clock_timestamp()), n."restoredAt", n."restoreNote", n.terms
    FROM jsonb_to_recordset(${numbered}::jsonb) AS n(
      id text, index integer, "userId" text, "conversationId" text, "position" integer, seq integer, audience text[], visibility text,
      "sourceTurnId" text, "saidBy" participant_kind, "assertedBy" text, subject text, predicate text, object text,
      confidence double precision, "tokenCount" integer, "contentHash" text, "observedAt" timestamptz, "importedAt" timestamptz,
      "validFrom" timestamptz, "validTo" timestamptz, "assertedAt" timestamptz, "restoredAt" timestamptz, "restoreNote" text, terms integer[])
    ORDER BY n."contentHash", coalesce(n."userId", n."conversationId", ''), n.visibility, n.index
    ON CONFLICT (tenant, (coalesce(user_id, conversation_id, '')), visibility, content_hash)
      WHERE superseded_at IS NULL DO NOTHING
    RETURNING id`
  return rows.map(({ id }) => id)
}

/**
 * Sets a savepoint before facts are written. `rollbackToSavepoint` rolls back to it and releases the locks taken since.
 */
export async function setSavepoint(tx: Tx): Promise<void> {
  await tx.$executeRaw`SAVEPOINT facts`
}

export async function rollbackToSavepoint(tx: Tx): Promise<void> {
  await tx.$executeRaw`ROLLBACK TO SAVEPOINT facts`
}

/** The columns of an active fact that are needed to renew it. */
export type ActiveRow = FactKey & Pick<FactRow, 'id' | 'saidBy' | 'assertedBy' | 'confidence' | 'observedAt'>

/** Locks the active facts with the keys, in lock order, and returns them. Uses the index fact_active. */
export async function lockFactsByKey(tx: Tx, tenant: string, keys: readonly FactKey[]): Promise<ActiveRow[]> {
  if (keys.length === 0) return []
  return tx.$queryRaw<ActiveRow[]>`
    SELECT f.id, f.user_id AS "userId", f.conversation_id AS "conversationId", f.visibility,
           f.content_hash AS "contentHash", f.said_by AS "saidBy", f.asserted_by AS "assertedBy", f.confidence,
           f.observed_at AS "observedAt"
    FROM fact f
    WHERE f.tenant = ${tenant}::text AND f.superseded_at IS NULL
      AND (coalesce(f.user_id, f.conversation_id, ''), f.visibility, f.content_hash) IN (
        SELECT coalesce(k."userId", k."conversationId", ''), k.visibility, k."contentHash"
        FROM jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) AS k(
          "userId" text, "conversationId" text, visibility text, "contentHash" text))
    ORDER BY f.content_hash, f.id FOR NO KEY UPDATE`
}

/** The most trusted assertion of a fact. */
export type Renewal = Pick<FactRow, 'id' | 'saidBy' | 'assertedBy' | 'confidence' | 'observedAt' | 'importedAt'>

/** Updates the most trusted assertion of facts that the transaction has locked. The facts keep their first source. */
export async function renewFacts(tx: Tx, renewals: readonly Renewal[]): Promise<void> {
  if (renewals.length === 0) return
  await tx.$executeRaw`
    UPDATE fact f
    SET said_by = r."saidBy", asserted_by = r."assertedBy", confidence = r.confidence, observed_at = r."observedAt",
        imported_at = r."importedAt"
    FROM jsonb_to_recordset(${JSON.stringify(renewals)}::jsonb) AS r(
      id text, "saidBy" participant_kind, "assertedBy" text, confidence double precision, "observedAt" timestamptz,
      "importedAt" timestamptz)
    WHERE f.id = r.id`
}

/** Records that a new source or a newer assertion states the facts, which makes their reconciliation due. */
export async function touchFacts(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.$executeRaw`
    UPDATE fact f SET asserted_at = clock_timestamp(), reconciled_at = NULL WHERE f.id = ANY (${ids}::text[])`
}

type Supersession = {
  id: string
  /** Id of the superseding fact; null for none. */
  by: string | null
  reason: NonNullable<FactRow['supersedeReason']>
  note?: string | null
  /** For CONTRADICTED: see FactRow. */
  contradictedFrom?: Date | null
}

/**
 * Supersedes the given facts that are active, and returns their ids. If there are several facts, the caller must lock
 * them first, in lock order.
 */
export async function supersedeFacts(tx: Tx, superseded: readonly Supersession[]): Promise<string[]> {
  if (superseded.length === 0) return []
  const rows = await tx.$queryRaw<{ id: string }[]>`
    UPDATE fact f
    SET superseded_by = s.by, superseded_at = now(), supersede_reason = s.reason, supersede_note = s.note,
        contradicted_from = s."contradictedFrom"
    FROM jsonb_to_recordset(${JSON.stringify(superseded)}::jsonb) AS s(
      id text, by text, reason supersede_reason, note text, "contradictedFrom" timestamptz)
    WHERE f.id = s.id AND f.superseded_at IS NULL
    RETURNING f.id`
  return rows.map(({ id }) => id)
}

/** The columns that change whenever a fact's first source, its assertion or its visibility set changes. */
type ReadFact = Pick<
  FactRow,
  'id' | 'conversationId' | 'seq' | 'visibility' | 'saidBy' | 'observedAt' | 'assertedAt' | 'confidence'
>

/**
 * Locks the facts that are still active, and whose first source, assertion and visibility set did not change since the
 * caller read them. Returns their ids.
 */
export async function lockFacts(tx: Tx, facts: readonly ReadFact[]): Promise<string[]> {
  if (facts.length === 0) return []
  const read = facts.map((fact): ReadFact => {
    const { id, conversationId, seq, visibility, saidBy, observedAt, assertedAt, confidence } = fact
    return { id, conversationId, seq, visibility, saidBy, observedAt, assertedAt, confidence }
  })
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id
    FROM jsonb_to_recordset(${JSON.stringify(read)}::jsonb) AS r(
      id text, "conversationId" text, seq integer, visibility text, "saidBy" participant_kind, "observedAt" timestamptz,
      "assertedAt" timestamptz, confidence double precision)
    JOIN fact f ON f.id = r.id AND f.conversation_id IS NOT DISTINCT FROM r."conversationId"
               AND f.seq IS NOT DISTINCT FROM r.seq AND f.visibility = r.visibility AND f.said_by = r."saidBy"
               AND f.observed_at = r."observedAt" AND f.asserted_at = r."assertedAt" AND f.confidence = r.confidence
               AND f.superseded_at IS NULL
    ORDER BY f.content_hash, f.id FOR NO KEY UPDATE OF f`
  return rows.map(({ id }) => id)
}

/** Copies the vectors of facts, and the names of their embedders, to newly inserted facts with the same text. */
export async function copyFactVectors(tx: Tx, copies: readonly { from: string; to: string }[]): Promise<void> {
  if (copies.length === 0) return
  const [from, to] = [copies.map((copy) => copy.from), copies.map((copy) => copy.to)]
  await tx.$executeRaw`
    WITH copied AS (
      INSERT INTO fact_vector (fact_id, embedder, object, sentence)
      SELECT c.to_id, v.embedder, v.object, v.sentence
      FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id) JOIN fact_vector v ON v.fact_id = c.from_id)
    UPDATE fact f SET embedded_by = o.embedded_by
    FROM unnest(${from}::text[], ${to}::text[]) AS c(from_id, to_id) JOIN fact o ON o.id = c.from_id
    WHERE f.id = c.to_id`
}
