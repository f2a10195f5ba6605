// Statements of the audit log. Each tenant's lines are numbered and chained under the lock of its row in audit_head.

import { SYSTEM } from '../../db/scope.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { AuditOutcome } from '../../generated/enums.ts'
import { empty, raw, sql } from '../kernel/sql.ts'

export type AuditLineRow = {
  tenant: string
  seq: number
  at: Date
  actor: string
  actedAs: string | null
  credential: string | null
  verb: string
  resources: readonly string[]
  outcome: AuditOutcome
  count: number
  /** Canonical JSON; null for none. */
  details: string | null
  /** Whether `hash` is an HMAC with the operator's key, not a plain SHA-256. */
  keyed: boolean
  /** Hash of the previous line's hash and this line's values, hexadecimal. */
  hash: string
}

type Head = { seq: number; hash: string }

const COLUMNS = raw(`l.tenant, l.seq::double precision AS seq, l.at, l.actor, l.acted_as AS "actedAs", l.credential,
  l.verb, l.resources, l.outcome, l.count, l.details, l.keyed, l.hash`)

/**
 * Locks the tenant's audit log until the transaction ends, and returns seq and hash of its newest line; 0 and ''
 * without lines.
 */
export async function lockAuditHead(tx: Tx, tenant: string): Promise<Head> {
  const rows = await tx.$queryRaw<Head[]>`
    INSERT INTO audit_head AS h (tenant) VALUES (${tenant}::text)
    ON CONFLICT (tenant) DO UPDATE SET last_seq = h.last_seq
    RETURNING h.last_seq::double precision AS seq, h.last_hash AS hash`
  return rows[0]!
}

/** Inserts lines of one tenant, in order, after the head that the transaction has locked. */
export async function insertAuditLines(tx: Tx, lines: readonly AuditLineRow[]): Promise<void> {
  const last = lines.at(-1)
  if (!last) return
  await tx.$executeRaw`
    WITH head AS (
      UPDATE audit_head SET last_seq = ${last.seq}::bigint, last_hash = ${last.hash}::text
      WHERE tenant = ${last.tenant}::text)
    INSERT INTO audit_line (tenant, seq, at, actor, acted_as, credential, verb, resources, outcome, count, details, keyed, hash)
    SELECT n.tenant, n.seq, n.at, n.actor, n."actedAs", n.credential, n.verb, n.resources, n.outcome, n.count, n.details,
           n.keyed, n.hash
    FROM jsonb_to_recordset(${JSON.stringify(lines)}::jsonb) AS n(
      tenant text, seq bigint, at timestamptz, actor text, "actedAs" text, credential text, verb text,
      resources text[], outcome audit_outcome, count integer, details text, keyed boolean, hash text)`
}

/** Filters of a page; null means any. `from` is inclusive, `to` is exclusive. */
export type AuditFilter = {
  actor: string | null
  verb: string | null
  resource: string | null
  outcome: AuditOutcome | null
  from: Date | null
  to: Date | null
}

/** Returns lines with a seq below `after` and above `before`, newest first; oldest first if `backwards`. */
export async function readAuditLines(
  db: Db,
  tenant: string,
  { actor, verb, resource, outcome, from, to }: AuditFilter,
  page: { after: number | null; before: number | null; limit: number; backwards: boolean },
): Promise<AuditLineRow[]> {
  // Conditions are left out rather than compared with null, so that each filter can use its index.
  const all = [
    actor === null ? empty : sql`AND (l.actor = ${actor}::text OR l.acted_as = ${actor}::text)`,
    verb === null ? empty : sql`AND l.verb = ${verb}::text`,
    resource === null ? empty : sql`AND l.resources @> ARRAY[${resource}::text]`,
    outcome === null ? empty : sql`AND l.outcome = ${outcome}::audit_outcome`,
    from === null ? empty : sql`AND l.at >= ${from}::timestamptz`,
    to === null ? empty : sql`AND l.at < ${to}::timestamptz`,
    page.after === null ? empty : sql`AND l.seq < ${page.after}::bigint`,
    page.before === null ? empty : sql`AND l.seq > ${page.before}::bigint`,
  ]
  const [a, b, c, d, e, f, g, h] = all
  return db.of(tenant).$queryRaw<AuditLineRow[]>`
    SELECT ${COLUMNS} FROM audit_line l
    WHERE l.tenant = ${tenant}::text ${a} ${b} ${c} ${d} ${e} ${f} ${g} ${h}
    ORDER BY l.seq ${raw(page.backwards ? 'ASC' : 'DESC')} LIMIT ${page.limit}::integer`
}

/** Returns up to `limit` lines with a seq above `after`, in ascending order. Uses the primary key. */
export const readAuditChain = (db: Db, tenant: string, after: number, limit: number): Promise<AuditLineRow[]> =>
  db.of(tenant).$queryRaw<AuditLineRow[]>`
    SELECT ${COLUMNS} FROM audit_line l
    WHERE l.tenant = ${tenant}::text AND l.seq > ${after}::bigint ORDER BY l.seq LIMIT ${limit}::integer`

/** Seq and hash of the newest line, and of the newest line that was deleted by age; 0 and '' if there is none. */
export type AuditHead = { seq: number; hash: string; prunedThrough: number; prunedHash: string }

/** Returns the head of the tenant's log; null without lines. */
export async function readAuditHead(db: Db, tenant: string): Promise<AuditHead | null> {
  const rows = await db.of(tenant).$queryRaw<AuditHead[]>`
    SELECT last_seq::double precision AS seq, last_hash AS hash, pruned_through::double precision AS "prunedThrough",
           pruned_hash AS "prunedHash"
    FROM audit_head WHERE tenant = ${tenant}::text`
  return rows[0] ?? null
}

/** Returns a tenant whose oldest line is older than `before`; null for none. */
export async function findPrunableTenant(db: Db, before: Date): Promise<string | null> {
  const rows = await db.of(SYSTEM).$queryRaw<{ tenant: string }[]>`
    SELECT h.tenant FROM audit_head h
    WHERE EXISTS (SELECT FROM audit_line l WHERE l.tenant = h.tenant AND l.seq = h.pruned_through + 1 AND l.at < ${before}::timestamptz)
    LIMIT 1`
  return rows[0]?.tenant ?? null
}

/**
 * Deletes up to `limit` of the tenant's oldest lines that are older than `before`, and stores seq and hash of the
 * newest deleted line. Stops at the first line that is not older, so that the remaining lines have no gap. Returns the
 * number of deleted lines.
 */
export async function pruneAuditLines(tx: Tx, tenant: string, before: Date, limit: number): Promise<number> {
  await lockAuditHead(tx, tenant)
  await tx.$executeRaw`SELECT set_config('colloquy.audit_retention', 'on', true)`
  const rows = await tx.$queryRaw<{ deleted: number }[]>`
    WITH oldest AS (
      SELECT l.seq, l.hash, l.at FROM audit_head h JOIN audit_line l ON l.tenant = h.tenant AND l.seq > h.pruned_through
      WHERE h.tenant = ${tenant}::text ORDER BY l.seq LIMIT ${limit}::integer),
    old AS (
      SELECT o.seq, o.hash FROM oldest o
      WHERE o.seq < coalesce((SELECT min(y.seq) FROM oldest y WHERE y.at >= ${before}::timestamptz), 9223372036854775807)),
    last AS (SELECT o.seq, o.hash FROM old o ORDER BY o.seq DESC LIMIT 1),
    head AS (
      UPDATE audit_head h SET pruned_through = last.seq, pruned_hash = last.hash FROM last
      WHERE h.tenant = ${tenant}::text RETURNING 1),
    gone AS (DELETE FROM audit_line l USING old WHERE l.tenant = ${tenant}::text AND l.seq = old.seq RETURNING 1)
    SELECT (SELECT count(*) FROM gone)::integer AS deleted FROM (SELECT count(*) FROM head) AS updated`
  return rows[0]!.deleted
}
