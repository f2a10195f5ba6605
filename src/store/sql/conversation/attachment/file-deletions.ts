// The queue of files whose bytes may have no attachment. An upload queues its file before it writes the bytes, so that a
// crash leaves none forever; a trigger queues the file of each deleted attachment.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db, Tx } from '../../../db/db.ts'

export type QueuedFile = { tenant: string; sha256: string }

/**
 * Queues the deletion of the file, or delays it. Waits while a sweep deletes the file, so that bytes that are written
 * afterwards are kept until the time.
 */
export async function delayDeletion(db: Db, { tenant, sha256 }: QueuedFile, seconds: number): Promise<void> {
  await db.of(tenant).$executeRaw`
    INSERT INTO file_deletion AS d (tenant, sha256, due_at)
    VALUES (${tenant}::text, ${sha256}::text, now() + make_interval(secs => ${seconds}::integer))
    ON CONFLICT (tenant, sha256) DO UPDATE SET due_at = greatest(d.due_at, excluded.due_at)`
}

/** Whether the deletion of the file is delayed, by this upload or a later one. Keeps it so until the transaction ends. */
export async function isDelayed(tx: Tx, { tenant, sha256 }: QueuedFile): Promise<boolean> {
  const rows = await tx.$queryRaw<{ isDelayed: boolean }[]>`
    SELECT d.due_at > clock_timestamp() AS "isDelayed" FROM file_deletion d
    WHERE d.tenant = ${tenant}::text AND d.sha256 = ${sha256}::text FOR UPDATE`
  return rows[0]?.isDelayed ?? false
}

/**
 * Takes the due file that has waited longest from the queue, and returns it, with whether an attachment of the tenant has
 * it; null if none is due. Files that other transactions have taken are skipped.
 */
export async function takeDueFile(tx: Tx): Promise<(QueuedFile & { isUsed: boolean }) | null> {
  const rows = await tx.$queryRaw<(QueuedFile & { isUsed: boolean })[]>`
    DELETE FROM file_deletion d USING (
      SELECT q.tenant, q.sha256 FROM file_deletion q WHERE q.due_at <= now()
      ORDER BY q.due_at LIMIT 1 FOR UPDATE SKIP LOCKED) q
    WHERE d.tenant = q.tenant AND d.sha256 = q.sha256
    RETURNING d.tenant, d.sha256,
              EXISTS (SELECT FROM attachment a WHERE a.tenant = d.tenant AND a.sha256 = d.sha256) AS "isUsed"`
  return rows[0] ?? null
}

/**
 * Returns the secret of signed URLs, and creates it if there is none. All processes of a database get the same one.
 * @param created a new random secret
 */
export async function readFileKey(db: Db, created: string): Promise<string> {
  const system = db.of(SYSTEM)
  await system.$executeRaw`INSERT INTO file_key (secret) VALUES (${created}::text) ON CONFLICT DO NOTHING`
  const rows = await system.$queryRaw<[{ secret: string }]>`SELECT k.secret FROM file_key k`
  return rows[0].secret
}
