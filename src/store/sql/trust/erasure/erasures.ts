// Statements of the table erasure and of legal holds, and statements that find the data of a user to erase.

import { SYSTEM } from '../../../db/scope.ts'
import { AGENT_QUEUE } from '../../background/read-jobs.ts'
import { sql, type Sql } from '../../kernel/sql.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ErasureKind } from '../../../generated/enums.ts'

export type ErasureRow = {
  id: string
  tenant: string
  kind: ErasureKind
  subject: string
  throughConversation: string
  throughPosition: number
  counts: Record<string, number>
  createdAt: Date
  completedAt: Date | null
  document: string | null
  signature: string | null
}

/** Position that marks all turns of a conversation as erased. */
export const ALL_POSITIONS = 2_147_483_647

/** The oldest unfinished erasure of a user; null for none. Uses the index erasure_due. */
export async function findUnfinishedErasure(db: Db): Promise<ErasureRow | null> {
  const rows = await db
    .of(SYSTEM)
    .erasure.findMany({ where: { completedAt: null }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }], take: 1 })
  return (rows[0] as ErasureRow | undefined) ?? null
}

/** Adds to the counts of an erasure that is not complete. */
export async function addErasureCounts(tx: Tx, id: string, counts: Readonly<Record<string, number>>): Promise<void> {
  await tx.$executeRaw`
    UPDATE erasure e SET counts = e.counts || coalesce((
      SELECT jsonb_object_agg(n.key, n.value::bigint + coalesce((e.counts->>n.key)::bigint, 0))
      FROM jsonb_each_text(${JSON.stringify(counts)}::jsonb) n), '{}')
    WHERE e.id = ${id}::text AND e.completed_at IS NULL`
}

/** Moves the cursor of an erasure. Returns false if another process has moved it since it was read. */
export async function moveErasure(
  tx: Tx,
  { id, throughConversation, throughPosition }: ErasureRow,
  to: { conversationId: string; position: number },
): Promise<boolean> {
  const moved = await tx.$executeRaw`
    UPDATE erasure SET through_conversation = ${to.conversationId}::text, through_position = ${to.position}::integer
    WHERE id = ${id}::text AND completed_at IS NULL AND through_conversation = ${throughConversation}::text
      AND through_position = ${throughPosition}::integer`
  return moved === 1
}

/** Whether no unfinished import is writing conversation `o`. Uses the index transfer_conversation. */
const isComplete = sql`NOT EXISTS (
  SELECT FROM transfer i WHERE i.tenant = o.tenant AND i.conversation_id = o.id AND i.state = 'RUNNING'
                           AND i.direction = 'IMPORT')`

/**
 * The first conversation after the id that the user owns or was a participant of; null for none. Omits conversations that
 * unfinished imports are writing: removeTransfersOf deletes those with data of the user.
 */
export async function findConversationOfUser(
  db: Db,
  tenant: string,
  user: string,
  after: string,
): Promise<{ id: string; isHeld: boolean } | null> {
  const rows = await db.of(tenant).$queryRaw<{ id: string; isHeld: boolean }[]>(sql`
    SELECT c.id, c.legal_hold AS "isHeld" FROM conversation c
    WHERE c.id = (SELECT min(o.id) FROM (
      (SELECT o.id FROM conversation o WHERE o.tenant = ${tenant}::text AND o.owner = ${user}::text AND o.id > ${after}::text
         AND ${isComplete}
       ORDER BY o.id LIMIT 1)
      UNION ALL
      (SELECT o.id FROM participant p JOIN conversation o ON o.id = p.conversation_id AND o.tenant = ${tenant}::text
       WHERE p.actor = ${user}::text AND p.conversation_id > ${after}::text AND ${isComplete}
       ORDER BY p.conversation_id LIMIT 1)) o)`)
  return rows[0] ?? null
}

/** Positions after `after` of turns that the user wrote and that are not erased, ascending. */
export async function readPositionsOfUser(
  db: Db,
  tenant: string,
  { conversationId, user, after }: { conversationId: string; user: string; after: number },
  limit: number,
): Promise<number[]> {
  const rows = await db.of(tenant).$queryRaw<{ position: number }[]>`
    SELECT DISTINCT t.root_seq AS "position" FROM turn t
    WHERE t.conversation_id = ${conversationId}::text AND t.root_seq > ${after}::integer AND t.actor = ${user}::text
      AND t.status <> 'ERASED'
    ORDER BY t.root_seq LIMIT ${limit}::integer`
  return rows.map(({ position }) => position)
}

/**
 * Facts about the user, or that the user asserted, without those with a source in a conversation under legal hold.
 * `conversationIds`: the conversations of their sources and of the facts that they superseded.
 */
export async function readFactsOfUser(
  db: Db,
  tenant: string,
  user: string,
  limit: number,
): Promise<{ ids: string[]; conversationIds: string[] }> {
  const rows = await db.of(tenant).$queryRaw<{ id: string; conversationIds: string[] }[]>`
    SELECT f.id, ARRAY(
             SELECT s.conversation_id FROM fact_source s WHERE s.fact_id = f.id AND s.conversation_id IS NOT NULL
             UNION SELECT g.conversation_id FROM fact g WHERE g.superseded_by = f.id AND g.conversation_id IS NOT NULL
           ) AS "conversationIds"
    FROM fact f
    WHERE f.id IN (
        SELECT a.id FROM fact a WHERE a.tenant = ${tenant}::text AND a.user_id = ${user}::text
        UNION SELECT s.fact_id FROM fact_source s WHERE s.asserted_by = ${user}::text)
      AND f.tenant = ${tenant}::text AND NOT EXISTS (
        SELECT FROM fact_source s JOIN conversation c ON c.id = s.conversation_id AND c.legal_hold
        WHERE s.fact_id = f.id)
    ORDER BY f.id LIMIT ${limit}::integer`
  return { ids: rows.map(({ id }) => id), conversationIds: rows.flatMap((row) => row.conversationIds) }
}

/** Ids of the given facts that are about the user. */
export async function readFactsAboutUser(tx: Tx, ids: readonly string[], user: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT f.id FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.user_id = ${user}::text`
  return rows.map(({ id }) => id)
}

/** Whether the conversation or one of the actors is under legal hold. */
export async function isHeld(
  db: Tx,
  tenant: string,
  conversationId: string | null,
  actors: readonly string[],
): Promise<boolean> {
  const rows = await db.$queryRaw<{ held: boolean }[]>`
    SELECT EXISTS (SELECT FROM conversation c WHERE c.id = ${conversationId}::text AND c.tenant = ${tenant}::text AND c.legal_hold)
        OR EXISTS (SELECT FROM held_user h WHERE h.tenant = ${tenant}::text AND h.user_id = ANY (${actors}::text[])) AS held`
  return rows[0]!.held
}

/** Whether a job is about the user, or about the user as an agent. */
const isAbout = (user: string): Sql => sql`(
  data->>'key' = ${user}::text
  OR name = ${AGENT_QUEUE} AND data->>'key' = split_part(data->>'key', ' ', 1) || ' ' || ${user}::text)`

/** Deletes the user's jobs that are not running, and the user's archived jobs. Returns the number of deleted jobs. */
export async function deleteJobsOfUser(db: Db, tenant: string, user: string): Promise<number> {
  const rows = await db.of(SYSTEM).$queryRaw<
    { installed: boolean }[]
  >`SELECT to_regclass('pgboss.job') IS NOT NULL AS installed`
  if (!rows[0]!.installed) return 0
  const deleted = await db.of(SYSTEM).$executeRaw`
    DELETE FROM pgboss.job
    WHERE data->>'tenant' = ${tenant}::text AND ${isAbout(user)} AND state <> 'active'`
  const archived = await db.of(SYSTEM).$executeRaw`
    DELETE FROM pgboss.archive WHERE data->>'tenant' = ${tenant}::text AND ${isAbout(user)}`
  return deleted + archived
}

/**
 * Cancels the unfinished imports that are writing a conversation of the user, or one with turns by the user, and deletes
 * these conversations. Deletes the records of exports of the user, which contain the name of the user.
 */
export async function removeTransfersOf(tx: Tx, tenant: string, user: string): Promise<void> {
  const imports = await tx.$queryRaw<{ id: string; conversationId: string }[]>`
    SELECT i.id, i.conversation_id AS "conversationId" FROM transfer i
    WHERE i.tenant = ${tenant}::text AND i.state = 'RUNNING' AND i.direction = 'IMPORT' AND (
      EXISTS (SELECT FROM conversation c WHERE c.id = i.conversation_id AND c.owner = ${user}::text)
      OR EXISTS (SELECT FROM turn t WHERE t.conversation_id = i.conversation_id AND t.actor = ${user}::text))
    ORDER BY i.id FOR UPDATE`
  const ids = imports.map(({ id }) => id)
  const conversationIds = imports.map(({ conversationId }) => conversationId)
  await tx.$executeRaw`DELETE FROM conversation WHERE id = ANY (${conversationIds}::text[])`
  await tx.$executeRaw`
    UPDATE transfer SET state = 'CANCELLED', progress = NULL, conversation_id = NULL WHERE id = ANY (${ids}::text[])`
  await tx.$executeRaw`
    DELETE FROM transfer t
    WHERE t.tenant = ${tenant}::text AND t.scope IN ('USER', 'OWNER') AND t.subject = ${user}::text AND t.direction = 'EXPORT'`
}
