// Writes facts, inside a transaction: new ones where none says the same, renewals of those that do, and what supersedes
// what. Whoever writes into conversations has locked their journals before, in the order of their ids. Facts of any conversations are
// locked in the order of their hashes, then of their ids, by everybody: so nobody waits in a circle.

import type { Tx } from '../../db.ts'
import type { FactRow } from './fact-columns.ts'

/** As it is to be written; it is active. */
export type NewFact = Omit<
  FactRow,
  'createdAt' | 'supersededBy' | 'supersededAt' | 'supersedeReason' | 'supersedeNote'
> & { terms: readonly number[] }

/** What an active fact is told by: no two of a tenant share all three. */
export type FactKey = Pick<FactRow, 'userId' | 'conversationId' | 'visibility' | 'contentHash'>

/**
 * Writes those of the facts that no active one says to the letter; their ids. Of two that are given, the first counts.
 * Waits for others who write the same at this moment.
 */
export async function insertFacts(tx: Tx, tenant: string, facts: readonly NewFact[]): Promise<string[]> {
  if (facts.length === 0) return []
  // In the order of what they are told by, so that two who write the same facts cannot wait for each other.
  const rows = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO fact (id, tenant, user_id, conversation_id, root_seq, seq, audience, visibility, source_turn_id,
                      said_by, subject, predicate, object, confidence, token_count, content_hash, observed_at, terms)
    SELECT n.id, ${tenant}::text, n."userId", n."conversationId", n."rootSeq", n.seq, n.audience, n.visibility,
           n."sourceTurnId", n."saidBy", n.subject, n.predicate, n.object, n.confidence, n."tokenCount",
           n."contentHash", n."observedAt", n.terms
    FROM jsonb_to_recordset(${JSON.stringify(facts)}::jsonb) AS n(
      id text, "userId" text, "conversationId" text, "rootSeq" integer, seq integer, audience text[], visibility text,
      "sourceTurnId" text, "saidBy" participant_kind, subject text, predicate text, object text,
      confidence double precision, "tokenCount" integer, "contentHash" text, "observedAt" timestamptz, terms integer[])
    ORDER BY n."contentHash", coalesce(n."userId", n."conversationId", ''), n.visibility, n.id
    ON CONFLICT (tenant, (coalesce(user_id, conversation_id, '')), visibility, content_hash)
      WHERE superseded_at IS NULL DO NOTHING
    RETURNING id`
  return rows.map(({ id }) => id)
}

/** Takes note of where the writing of facts begins, for `backToMark` to undo it and give its locks back. */
export async function markFacts(tx: Tx): Promise<void> {
  await tx.$executeRaw`SAVEPOINT facts`
}

export async function backToMark(tx: Tx): Promise<void> {
  await tx.$executeRaw`ROLLBACK TO SAVEPOINT facts`
}

/** What there is to know of an active fact before it is renewed. */
export type ActiveRow = FactKey & Pick<FactRow, 'id' | 'saidBy' | 'confidence' | 'observedAt'>

/** The active facts with one of those keys, locked; in no order. By the index fact_active. */
export async function lockFactsByKey(tx: Tx, tenant: string, keys: readonly FactKey[]): Promise<ActiveRow[]> {
  if (keys.length === 0) return []
  return tx.$queryRaw<ActiveRow[]>`
    SELECT f.id, f.user_id AS "userId", f.conversation_id AS "conversationId", f.visibility,
           f.content_hash AS "contentHash", f.said_by AS "saidBy", f.confidence, f.observed_at AS "observedAt"
    FROM fact f
    WHERE f.tenant = ${tenant}::text AND f.superseded_at IS NULL
      AND (coalesce(f.user_id, f.conversation_id, ''), f.visibility, f.content_hash) IN (
        SELECT coalesce(k."userId", k."conversationId", ''), k.visibility, k."contentHash"
        FROM jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) AS k(
          "userId" text, "conversationId" text, visibility text, "contentHash" text))
    ORDER BY f.content_hash, f.id FOR NO KEY UPDATE`
}

/** Said again, later or by somebody who is more to be believed: whence it is known, and how surely, from now on. */
export type Renewal = Pick<
  FactRow,
  'id' | 'conversationId' | 'rootSeq' | 'seq' | 'audience' | 'sourceTurnId' | 'saidBy' | 'confidence' | 'observedAt'
>

/** Renews facts that the transaction has locked. */
export async function renewFacts(tx: Tx, renewals: readonly Renewal[]): Promise<void> {
  if (renewals.length === 0) return
  await tx.$executeRaw`
    UPDATE fact f
    SET conversation_id = r."conversationId", root_seq = r."rootSeq", seq = r.seq, audience = r.audience,
        source_turn_id = r."sourceTurnId", said_by = r."saidBy", confidence = r.confidence,
        observed_at = r."observedAt"
    FROM jsonb_to_recordset(${JSON.stringify(renewals)}::jsonb) AS r(
      id text, "conversationId" text, "rootSeq" integer, seq integer, audience text[], "sourceTurnId" text,
      "saidBy" participant_kind, confidence double precision, "observedAt" timestamptz)
    WHERE f.id = r.id`
}

type Supersession = {
  id: string
  /** What holds in its place; null for nothing. */
  by: string | null
  reason: NonNullable<FactRow['supersedeReason']>
  note?: string | null
}

/** Supersedes those of the facts that are active; their ids. Of several, all are locked before. */
export async function supersedeFacts(tx: Tx, superseded: readonly Supersession[]): Promise<string[]> {
  if (superseded.length === 0) return []
  const rows = await tx.$queryRaw<{ id: string }[]>`
    UPDATE fact f
    SET superseded_by = s.by, superseded_at = now(), supersede_reason = s.reason, supersede_note = s.note
    FROM jsonb_to_recordset(${JSON.stringify(superseded)}::jsonb) AS s(
      id text, by text, reason supersede_reason, note text)
    WHERE f.id = s.id AND f.superseded_at IS NULL
    RETURNING f.id`
  return rows.map(({ id }) => id)
}

/** Locks those of the facts that are as they were read, active and not renewed since; their ids. */
export async function lockFacts(
  tx: Tx,
  facts: readonly Pick<FactRow, 'id' | 'saidBy' | 'observedAt' | 'confidence'>[],
): Promise<string[]> {
  if (facts.length === 0) return []
  const read = facts.map(({ id, saidBy, observedAt, confidence }) => ({ id, saidBy, observedAt, confidence }))
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id
    FROM jsonb_to_recordset(${JSON.stringify(read)}::jsonb) AS r(
      id text, "saidBy" participant_kind, "observedAt" timestamptz, confidence double precision)
    JOIN fact f ON f.id = r.id AND f.said_by = r."saidBy" AND f.observed_at = r."observedAt"
               AND f.confidence = r.confidence AND f.superseded_at IS NULL
    ORDER BY f.content_hash, f.id FOR NO KEY UPDATE OF f`
  return rows.map(({ id }) => id)
}

/** Gives facts that were just written the vectors of those whose words they have. */
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

/** Locks the active facts that are known from that version of a turn, and still are; their ids. Index fact_source. */
export async function lockFactsOf(tx: Tx, turnId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id FROM fact f WHERE f.source_turn_id = ${turnId}::text AND f.superseded_at IS NULL
    ORDER BY f.content_hash, f.id FOR NO KEY UPDATE`
  return rows.map(({ id }) => id)
}

/** Counts facts for everyone that were known already. */
export async function countSkipped(tx: Tx, tenant: string, skipped: number): Promise<void> {
  if (skipped === 0) return
  await tx.$executeRaw`
    INSERT INTO fact_tally AS t (tenant, exact_duplicates_skipped) VALUES (${tenant}::text, ${skipped}::bigint)
    ON CONFLICT (tenant) DO UPDATE SET exact_duplicates_skipped = t.exact_duplicates_skipped + ${skipped}::bigint`
}
