// Writes imported facts with their sources, profiles, receipts of erasures and legal holds of users; and finds the
// receipts that forbid importing something.

import type { Tx } from '../../../db/db.ts'
import type { ErasureKind } from '../../../generated/enums.ts'
import { sql } from '../../kernel/sql.ts'
import { ERASURE, FACT, FACT_SOURCE, HELD_USER, names, PROFILE, recordOf, values, type Column } from './columns.ts'

type Values = Record<string, unknown>

/** A fact with the columns that are computed: those of its first source, its hash, its visibility set and its terms. */
export type ImportedFact = Values & {
  id: string
  conversationId: string | null
  position: number | null
  seq: number | null
  sourceTurnId: string | null
  visibility: string
  contentHash: string
  terms: readonly number[]
  /** Time of its newest source. */
  assertedAt: Date
}

/**
 * Writes facts, and returns the ids of those that were written. A fact is not written if its id is used, or if an equal
 * fact is active.
 */
export async function insertImportedFacts(tx: Tx, tenant: string, facts: readonly ImportedFact[]): Promise<string[]> {
  if (facts.length === 0) return []
  const rows = await tx.$queryRaw<{ id: string }[]>(sql`
    INSERT INTO fact (tenant, ${names(FACT)}, conversation_id, root_seq, seq, source_turn_id, visibility, content_hash, terms,
                      asserted_at)
    SELECT ${tenant}::text, ${values(FACT)}, x."conversationId", x."position", x.seq, x."sourceTurnId", x.visibility,
           x."contentHash", x.terms, x."assertedAt"
    FROM jsonb_to_recordset(${JSON.stringify(facts)}::jsonb) AS x(${recordOf(FACT)}, "conversationId" text,
      "position" integer, seq integer, "sourceTurnId" text, visibility text, "contentHash" text, terms integer[],
      "assertedAt" timestamptz)
    ON CONFLICT DO NOTHING RETURNING id`)
  return rows.map(({ id }) => id)
}

/** Writes sources of facts that were written. */
export async function insertImportedSources(
  tx: Tx,
  sources: readonly (Values & { factId: string; audience: unknown; factCreatedAt: unknown })[],
): Promise<void> {
  if (sources.length === 0) return
  await tx.$executeRaw(sql`
    INSERT INTO fact_source (fact_id, ${names(FACT_SOURCE)}, audience, fact_created_at)
    SELECT x."factId", ${values(FACT_SOURCE)}, x.audience, x."factCreatedAt"
    FROM jsonb_to_recordset(${JSON.stringify(sources)}::jsonb)
      AS x("factId" text, ${recordOf(FACT_SOURCE)}, audience text[], "factCreatedAt" timestamptz)
    ON CONFLICT DO NOTHING`)
}

type StoredStatement = {
  id: string
  userId: string | null
  visibility: string
  subject: string
  predicate: string
  object: string
}

/** The tenant's facts with these ids. */
export async function findStoredFacts(tx: Tx, tenant: string, ids: readonly string[]): Promise<StoredStatement[]> {
  if (ids.length === 0) return []
  return tx.$queryRaw<StoredStatement[]>`
    SELECT f.id, f.user_id AS "userId", f.visibility, f.subject, f.predicate, f.object FROM fact f
    WHERE f.id = ANY (${ids}::text[]) AND f.tenant = ${tenant}::text`
}

/** The visibility of the tenant's conversations among the ids, by id. */
export async function readVisibilities(tx: Tx, tenant: string, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.$queryRaw<{ id: string; visibility: string }[]>`
    SELECT c.id, c.visibility::text FROM conversation c WHERE c.id = ANY (${ids}::text[]) AND c.tenant = ${tenant}::text`
  return new Map(rows.map(({ id, visibility }) => [id, visibility]))
}

const TABLES: Record<'profile' | 'erasure' | 'heldUser', { table: string; columns: readonly Column[] }> = {
  profile: { table: 'user_profile', columns: PROFILE },
  erasure: { table: 'erasure', columns: ERASURE },
  heldUser: { table: 'held_user', columns: HELD_USER },
}

/** Writes rows of the tenant that do not exist yet. Returns the number of written rows. */
export async function insertListed(
  tx: Tx,
  tenant: string,
  type: keyof typeof TABLES,
  rows: readonly Values[],
): Promise<number> {
  if (rows.length === 0) return 0
  const { table, columns } = TABLES[type]
  return tx.$executeRaw(sql`
    INSERT INTO ${names([{ key: '', column: table, type: 'text' }])} (tenant, ${names(columns)})
    SELECT ${tenant}::text, ${values(columns)}
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS x(${recordOf(columns)})
    ON CONFLICT DO NOTHING`)
}

export type ErasedSubject = { kind: ErasureKind; subject: string; createdAt: Date }

/** The erasures of these subjects in the tenant, unfinished ones included. Uses the index (tenant, subject). */
export async function findErasures(tx: Tx, tenant: string, subjects: readonly string[]): Promise<ErasedSubject[]> {
  if (subjects.length === 0) return []
  return tx.erasure.findMany({
    where: { tenant, subject: { in: [...subjects] } },
    select: { kind: true, subject: true, createdAt: true },
  })
}

/** Whether the tenant has erasures of users that were requested after the time. */
export async function hasErasuresSince(tx: Tx, tenant: string, since: Date): Promise<boolean> {
  const where = { tenant, kind: 'USER' as const, createdAt: { gt: since } }
  return (await tx.erasure.findFirst({ where, select: { id: true } })) !== null
}

/** The authors of the turns and of the shared state of the conversations, and the owners of the conversations. */
export async function readAuthors(tx: Tx, conversationIds: readonly string[]): Promise<string[]> {
  const rows = await tx.$queryRaw<{ actor: string }[]>`
    SELECT t.actor FROM turn t WHERE t.conversation_id = ANY (${conversationIds}::text[])
    UNION SELECT unnest(s.writers) FROM shared_state s WHERE s.conversation_id = ANY (${conversationIds}::text[])
    UNION SELECT c.owner FROM conversation c WHERE c.id = ANY (${conversationIds}::text[])`
  return rows.map(({ actor }) => actor)
}
