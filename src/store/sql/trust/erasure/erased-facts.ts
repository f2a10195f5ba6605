// Statements for the transaction that deletes or erases a conversation, turns or a user. They lock and delete the
// facts, reactivate the facts that the deleted ones superseded, and delete the profiles that were made from deleted
// facts. The caller has locked the journals of the conversations.

import type { Db, Tx } from '../../../db/db.ts'
import type { FactRow } from '../../memory/fact/fact-columns.ts'
import { sql, type Sql } from '../../kernel/sql.ts'
import { deleteFormerProfiles } from './former-states.ts'

/**
 * Returns the ids of other conversations that have a fact superseded by a fact of this conversation. Uses the indexes
 * fact_source_conversation and fact_superseded_by.
 */
export async function readConversationsSupersededBy(db: Db, tenant: string, conversationId: string): Promise<string[]> {
  const rows = await db.of(tenant).$queryRaw<
    { conversationId: string }[]
  >`SELECT DISTINCT f.conversation_id AS "conversationId"
           FROM fact_source w JOIN fact f ON f.superseded_by = w.fact_id AND f.conversation_id <> ${conversationId}::text
           WHERE w.conversation_id = ${conversationId}::text`
  return rows.map((row) => row.conversationId)
}

/**
 * Locks the facts with a source in a conversation, superseded or not, and the facts that they superseded, in the lock
 * order of write-facts.ts. Returns the ids of the facts with a source in the conversation.
 */
export const lockFactsOfConversation = (tx: Tx, conversationId: string): Promise<string[]> =>
  lockFacts(tx, sql`SELECT s.fact_id AS id FROM fact_source s WHERE s.conversation_id = ${conversationId}::text`)

/** Like lockFactsOfConversation, for the facts with a source in one of the turn versions. */
export const lockFactsOfTurns = (tx: Tx, turnIds: readonly string[]): Promise<string[]> =>
  lockFacts(tx, sql`SELECT s.fact_id AS id FROM fact_source s WHERE s.turn_id = ANY (${turnIds}::text[])`)

/** Like lockFactsOfConversation, for the given facts that still exist. */
export const lockFactsById = (tx: Tx, ids: readonly string[]): Promise<string[]> =>
  lockFacts(tx, sql`SELECT a.id FROM unnest(${ids}::text[]) AS a(id)`)

async function lockFacts(tx: Tx, mine: Sql): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string; isMine: boolean }[]>`
    WITH mine AS MATERIALIZED (${mine})
    SELECT f.id, f.id IN (SELECT id FROM mine) AS "isMine" FROM fact f
    WHERE f.id IN (SELECT id FROM mine UNION SELECT g.id FROM mine JOIN fact g ON g.superseded_by = mine.id)
    ORDER BY f.content_hash, f.id FOR UPDATE OF f`
  return rows.filter(({ isMine }) => isMine).map(({ id }) => id)
}

/** Deletes facts with their sources and vectors. */
export const deleteFacts = (tx: Tx, ids: readonly string[]): Promise<number> =>
  tx.$executeRaw`DELETE FROM fact WHERE id = ANY (${ids}::text[])`

/**
 * Deletes the tenant's profiles that were made from one of the facts, and their former texts that were. Returns the number
 * of profiles. Reads all profiles of the tenant.
 */
export async function deleteProfilesOfFacts(tx: Tx, tenant: string, factIds: readonly string[]): Promise<number> {
  if (factIds.length === 0) return 0
  await deleteFormerProfiles(tx, tenant, factIds)
  return tx.$executeRaw`
    DELETE FROM user_profile WHERE tenant = ${tenant}::text AND made_of && ${factIds}::text[]`
}

type Reactivated = Pick<FactRow, 'id' | 'conversationId'>

/** Whether the database refused a row because of a unique index. */
const isUniqueViolation = (error: unknown): boolean =>
  (error as { meta?: { driverAdapterError?: { cause?: { kind?: string } } } }).meta?.driverAdapterError?.cause?.kind
  === 'UniqueConstraintViolation'

/** Makes the facts active that have no active exact duplicate. Of exact duplicates among them, the one observed last. */
const activate = (tx: Tx, ids: readonly string[]): Promise<Reactivated[]> =>
  tx.$queryRaw<Reactivated[]>`
    WITH best AS (
      SELECT DISTINCT ON (f.tenant, coalesce(f.user_id, f.conversation_id, ''), f.visibility, f.content_hash) f.id
      FROM fact f
      WHERE f.id = ANY (${ids}::text[]) AND NOT EXISTS (
        SELECT FROM fact a
        WHERE a.tenant = f.tenant AND a.superseded_at IS NULL AND a.visibility = f.visibility
          AND coalesce(a.user_id, a.conversation_id, '') = coalesce(f.user_id, f.conversation_id, '')
          AND a.content_hash = f.content_hash)
      ORDER BY f.tenant, coalesce(f.user_id, f.conversation_id, ''), f.visibility, f.content_hash,
               f.observed_at DESC, f.id)
    UPDATE fact f SET superseded_by = NULL, superseded_at = NULL, supersede_reason = NULL, supersede_note = NULL,
                      contradicted_from = NULL, reconciled_at = NULL
    FROM best b WHERE f.id = b.id
    RETURNING f.id, f.conversation_id AS "conversationId"`

/**
 * Reactivates superseded facts, which makes their reconciliation due. Returns the reactivated facts. Of exact
 * duplicates, only the one observed last is reactivated. A fact with an active exact duplicate stays superseded, by
 * that duplicate, with reason DUPLICATED.
 */
export async function reactivateFacts(tx: Tx, ids: readonly string[]): Promise<Reactivated[]> {
  if (ids.length === 0) return []
  let reactivated: Reactivated[] | null = null
  while (reactivated === null) {
    await tx.$executeRaw`SAVEPOINT reactivation`
    try {
      reactivated = await activate(tx, ids)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      // Another transaction has committed an exact duplicate since the statement began. The next attempt sees it.
      await tx.$executeRaw`ROLLBACK TO SAVEPOINT reactivation`
    }
  }
  await tx.$executeRaw`
    UPDATE fact f SET superseded_by = a.id, supersede_reason = 'DUPLICATED', contradicted_from = NULL
    FROM fact a
    WHERE f.id = ANY (${ids}::text[]) AND f.superseded_at IS NOT NULL
      AND a.tenant = f.tenant AND a.superseded_at IS NULL AND a.visibility = f.visibility
      AND coalesce(a.user_id, a.conversation_id, '') = coalesce(f.user_id, f.conversation_id, '')
      AND a.content_hash = f.content_hash`
  return reactivated
}

/**
 * Deletes profiles that were made from a fact of the conversation, and their former texts that were. Returns the number of
 * profiles. Reads all profiles of the tenant.
 */
export async function deleteProfilesOfConversation(tx: Tx, tenant: string, conversationId: string): Promise<number> {
  const facts = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id FROM fact f WHERE f.conversation_id = ${conversationId}::text`
  return deleteProfilesOfFacts(
    tx,
    tenant,
    facts.map(({ id }) => id),
  )
}
