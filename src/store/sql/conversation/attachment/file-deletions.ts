// The queue of files whose bytes may have no attachment. An upload queues its file before it writes the bytes, so that a
// crash leaves none forever; a trigger queues the files of deleted attachments. Transactions only append rows, under a lock
// of the file where its bytes are written or deleted.

import { FileBusy } from '../../../../errors.ts'
import { SYSTEM } from '../../../db/scope.ts'
import { withTransaction } from '../../../db/tx.ts'
import type { Db, Tx } from '../../../db/db.ts'

/** A file by its name in the file store of the tenant (`keyOf`). */
export type QueuedFile = { tenant: string; sha256: string }

/** Number of the row that a deletion of bytes writes before it begins. */
type StartedDeletion = bigint

/** Waits for other transactions that have locked the file, and locks it until the transaction ends. */
async function lockFile(tx: Tx, { tenant, sha256 }: QueuedFile): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`${tenant} ${sha256}`}::text, 0))`
}

type FileState = { isDelayed: boolean; isStarted: boolean; isUsed: boolean }

/** Whether the file is not due, whether its deletion has started and may still happen, and whether an attachment has it. */
async function readState(tx: Tx, { tenant, sha256 }: QueuedFile): Promise<FileState> {
  const [state] = await tx.$queryRaw<[FileState]>`
    SELECT coalesce(bool_or(NOT d.started), false) AS "isDelayed", coalesce(bool_or(d.started), false) AS "isStarted",
           EXISTS (SELECT FROM attachment a WHERE a.tenant = ${tenant}::text AND a.sha256 = ${sha256}::text) AS "isUsed"
    FROM file_deletion d
    WHERE d.tenant = ${tenant}::text AND d.sha256 = ${sha256}::text AND d.due_at > clock_timestamp()`
  return state
}

const append = (tx: Tx, { tenant, sha256 }: QueuedFile, seconds: number, started = false) =>
  tx.$queryRaw<[{ number: bigint }]>`
    INSERT INTO file_deletion (tenant, sha256, due_at, started)
    VALUES (${tenant}::text, ${sha256}::text, clock_timestamp() + make_interval(secs => ${seconds}::integer),
            ${started}::boolean)
    RETURNING number`

/**
 * Queues the deletion of the file, or delays it: bytes that are written afterwards are kept until the time. Returns the
 * number of the delay.
 * @throws FileBusy if the deletion has started: the file store could execute it after the write
 */
export const delayDeletion = (db: Db, file: QueuedFile, seconds: number): Promise<bigint> =>
  withTransaction(db, file.tenant, async (tx) => {
    await lockFile(tx, file)
    if ((await readState(tx, file)).isStarted) throw new FileBusy()
    const [{ number }] = await append(tx, file, seconds)
    return number
  })

/**
 * Whether the bytes of the file that were written before are kept, because an upload or import has delayed the deletion.
 * Keeps them so until the transaction ends. A transaction locks several files in the order of their names.
 */
export async function isDelayed(tx: Tx, file: QueuedFile): Promise<boolean> {
  await lockFile(tx, file)
  return (await readState(tx, file)).isDelayed
}

/** Makes the deletion of a file due, unless another upload delays it. @param number see delayDeletion */
export async function endDelay(db: Db, tenant: string, number: bigint): Promise<void> {
  await db.of(tenant).$executeRaw`UPDATE file_deletion SET due_at = now() WHERE number = ${number}::bigint`
}

/** Makes the files due that this transaction only has delayed. */
export async function endDelays(tx: Tx, tenant: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await tx.$executeRaw`
    UPDATE file_deletion SET due_at = now() WHERE tenant = ${tenant}::text AND sha256 = ANY (${names}::text[])`
}

/** At most `limit` files that are due, those that have waited longest first. */
export const readDueFiles = (db: Db, limit: number): Promise<QueuedFile[]> =>
  db.of(SYSTEM).$queryRaw<QueuedFile[]>`
    SELECT q.tenant, q.sha256 FROM file_deletion q
    WHERE q.due_at <= now() AND NOT EXISTS (
      SELECT FROM file_deletion l WHERE l.tenant = q.tenant AND l.sha256 = q.sha256 AND l.due_at > now())
    GROUP BY q.tenant, q.sha256 ORDER BY min(q.due_at) LIMIT ${limit}::integer`

/**
 * Starts the deletion of a due file that no attachment of the tenant has. Until it ends, or for the number of seconds, no
 * upload relies on the bytes. Null if the file is used, not due any more, or locked by an upload.
 */
export const startDeletion = (db: Db, file: QueuedFile, seconds: number): Promise<StartedDeletion | null> =>
  withTransaction(db, SYSTEM, async (tx) => {
    const { tenant, sha256 } = file
    const [lock] = await tx.$queryRaw<[{ taken: boolean }]>`
      SELECT pg_try_advisory_xact_lock(hashtextextended(${`${tenant} ${sha256}`}::text, 0)) AS taken`
    if (!lock.taken) return null
    const state = await readState(tx, file)
    if (state.isDelayed || state.isStarted) return null
    const taken = await tx.$executeRaw`
      DELETE FROM file_deletion WHERE tenant = ${tenant}::text AND sha256 = ${sha256}::text`
    if (taken === 0 || state.isUsed) return null
    const [{ number }] = await append(tx, file, seconds, true)
    return number
  })

/** Ends the deletion of a file whose bytes are deleted. One that is not ended is repeated when its time is over. */
export async function endDeletion(db: Db, number: StartedDeletion): Promise<void> {
  await db.of(SYSTEM).$executeRaw`DELETE FROM file_deletion WHERE number = ${number}::bigint`
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
