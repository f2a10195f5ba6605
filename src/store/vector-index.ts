// The HNSW index of an embedder's vectors, on Postgres. It is half-precision, and partial, so that each embedder has
// its own. It is built only when there are many vectors, because inserting a vector into an index costs more than the
// rest of embedding a turn. Migrations do not create it.

import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Db } from './db.ts'
import { SYSTEM } from './scope.ts'

/** Hashes the embedder's name, because Postgres truncates identifiers to 63 bytes. */
const indexName = (embedder: string) =>
  `turn_vector_hnsw_${createHash('md5').update(embedder).digest('hex').slice(0, 16)}`

/** First key of the advisory locks: "CQVI" in ASCII. The second key is the hash of the index's name. */
const LOCK_KEY = 0x43515649
/** Limits of the memory for building an index. */
const MEMORY_MB = { min: 64, max: 1024 }
/** SQLSTATE disk_full, which Postgres also reports if shared memory is exhausted. */
const DISK_FULL = '53100'

type VectorIndex = {
  /** False while the index is being built, and after a failed build. */
  valid: boolean
  /** Number of vectors as of the last VACUUM or ANALYZE. */
  rows: number
}

/** The embedder's index; null if there is none. */
export async function readVectorIndex(db: Db, embedder: string): Promise<VectorIndex | null> {
  const rows = await db.of(SYSTEM).$queryRaw<VectorIndex[]>`
    SELECT i.indisvalid AS valid, greatest(c.reltuples, 0)::integer AS rows
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indexrelid = to_regclass(${indexName(embedder)}::text)`
  return rows[0] ?? null
}

/** The operations of `readVectorIndex`, `buildVectorIndex` and `dropVectorIndex`, for the periodic maintenance. */
export type VectorIndexes = {
  read(embedder: string): Promise<VectorIndex | null>
  build(embedder: { name: string; dimension: number }, count: number, signal: AbortSignal): Promise<boolean>
  drop(embedder: string): Promise<void>
}

export const vectorIndexes = (db: Db, databaseUrl: string): VectorIndexes => ({
  read: (embedder) => readVectorIndex(db, embedder),
  build: (embedder, count, signal) => buildVectorIndex(databaseUrl, embedder, count, signal),
  drop: (embedder) => dropVectorIndex(databaseUrl, embedder),
})

/**
 * Builds the index unless it exists or another process is building it. First drops an invalid index of a failed build.
 * Takes about 15 s for 100,000 vectors of 384 components on two idle cores. Does not block appends or searches.
 * @param count approximate number of vectors, which determines the memory to use
 * @returns whether this call built the index
 */
export function buildVectorIndex(
  databaseUrl: string,
  { name, dimension }: { name: string; dimension: number },
  count: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const index = indexName(name)
  return withLockedClient(databaseUrl, index, signal, async (client) => {
    const {
      rows: [existing],
    } = await client.query<{ valid: boolean }>(
      'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1::text)',
      [index],
    )
    if (existing?.valid) return false
    if (existing) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
    // This is enough to build the graph (the vectors and their links) in memory.
    const megabytes = Math.ceil((count * (2 * dimension + 400)) / 1e6)
    await client.query(`SET maintenance_work_mem = '${Math.min(Math.max(megabytes, MEMORY_MB.min), MEMORY_MB.max)}MB'`)
    const createIndex = `
      CREATE INDEX CONCURRENTLY ${index} ON turn_vector
      USING hnsw ((embedding::halfvec(${dimension})) halfvec_ip_ops) WITH (m = 16, ef_construction = 100)
      WHERE embedder = ${pg.escapeLiteral(name)}`
    try {
      await client.query(createIndex)
    } catch (error) {
      if ((error as { code?: string }).code !== DISK_FULL) throw error
      // Parallel workers need shared memory, which is scarce in containers. Retry without them.
      await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
      await client.query('SET max_parallel_maintenance_workers = 0')
      await client.query(createIndex)
    }
    return true
  })
}

/** Drops the embedder's index, if it exists and no process is building it. */
export async function dropVectorIndex(databaseUrl: string, embedder: string): Promise<void> {
  const index = indexName(embedder)
  await withLockedClient(databaseUrl, index, undefined, async (client) => {
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
    return true
  })
}

/**
 * Runs `work` on a separate connection without a statement timeout, under the lock of the index. Returns its result, or
 * false if another session has the lock. An abort of `signal` cancels the running statement.
 */
async function withLockedClient(
  databaseUrl: string,
  index: string,
  signal: AbortSignal | undefined,
  work: (client: pg.Client) => Promise<boolean>,
): Promise<boolean> {
  signal?.throwIfAborted()
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'colloquy index',
    statement_timeout: 0,
    connectionTimeoutMillis: 30_000,
    keepAlive: true,
  })
  // The error is ignored, because the running statement rejects if the connection breaks.
  client.on('error', () => {})
  await client.connect()
  let cancel = () => {}
  try {
    const {
      rows: [self],
    } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    cancel = () => void cancelBackend(databaseUrl, self!.pid)
    signal?.addEventListener('abort', cancel, { once: true })
    // The signal may have been aborted during the connect, when it had no listener.
    signal?.throwIfAborted()
    const {
      rows: [lock],
    } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock($1::integer, hashtext($2::text)) AS taken',
      [LOCK_KEY, index],
    )
    return lock!.taken && (await work(client))
  } finally {
    signal?.removeEventListener('abort', cancel)
    await client.end()
  }
}

/** Cancels the backend's statement, which requires a second connection. */
async function cancelBackend(databaseUrl: string, pid: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT pg_cancel_backend($1::integer)', [pid])
  } catch {
    // The statement is not cancelled and runs to its end, which is harmless.
  } finally {
    await client.end().catch(() => {})
  }
}
