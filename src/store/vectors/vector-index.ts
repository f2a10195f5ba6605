// The HNSW indexes of an embedder's vectors, on Postgres: one for each segment (vector-segments.ts). They are
// half-precision, and partial, so that each embedder has its own. Their names contain their ranges, so the catalogue of
// the database is the only list of segments. Migrations do not create them.

import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Db } from '../db/db.ts'
import { SYSTEM } from '../db/scope.ts'
import { createIndex, dropIndex, rowsInIndex } from '../scaling/concurrent-index.ts'
import { unusedSegments, type NumberRange, type VectorSegment } from './vector-segments.ts'

/** Hashes the embedder's name, because Postgres truncates identifiers to 63 bytes. */
const prefixOf = (embedder: string) =>
  `turn_vector_hnsw_${createHash('md5').update(embedder).digest('hex').slice(0, 16)}_`

/** Base of the numbers in names of indexes. */
const BASE = 36
const indexName = (embedder: string, { from, to }: NumberRange) =>
  `${prefixOf(embedder)}${from.toString(BASE)}_${to.toString(BASE)}`

/** First key of the advisory locks: "CQVI" in ASCII. The second key is the hash of the names' prefix. */
const LOCK_KEY = 0x43515649
/** Limits of the memory for building an index. */
const MEMORY_MB = { min: 64, max: 1024 }
/** SQLSTATE disk_full, which Postgres also reports if shared memory is exhausted. */
const DISK_FULL = '53100'

const TABLE = 'turn_vector'
const SEGMENTS = `
  SELECT c.relname AS name, i.indisvalid AS valid, ${rowsInIndex('c')} AS rows
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = '${TABLE}'::regclass AND starts_with(c.relname, $1::text)`

type SegmentRow = { name: string; valid: boolean; rows: number }

function toSegment({ name, valid, rows }: SegmentRow): VectorSegment {
  const [from, to] = name.split('_').slice(-2) as [string, string]
  return { from: parseInt(from, BASE), to: parseInt(to, BASE), valid, rows }
}

/** Reads the embedder's segments, in no order. */
export async function readVectorSegments(db: Db, embedder: string): Promise<VectorSegment[]> {
  const rows = await db.of(SYSTEM).$queryRawUnsafe<SegmentRow[]>(SEGMENTS, prefixOf(embedder))
  return rows.map(toSegment)
}

/** A segment to build, with its approximate number of vectors, which determines the memory to use. */
type NewSegment = Omit<VectorSegment, 'valid'>

/** The operations on indexes, for the periodic maintenance. */
export type VectorIndexes = {
  read(embedder: string): Promise<VectorSegment[]>
  countNewer(embedder: string, from: number, limit: number): Promise<{ newer: number; end: number }>
  build(embedder: { name: string; dimension: number }, segment: NewSegment, signal: AbortSignal): Promise<boolean>
  dropUnused(embedder: string): Promise<void>
  drop(embedder: string): Promise<void>
}

export const vectorIndexes = (db: Db, databaseUrl: string): VectorIndexes => ({
  read: (embedder) => readVectorSegments(db, embedder),
  countNewer: (embedder, from, limit) => countNewerVectors(db, embedder, from, limit),
  build: (embedder, segment, signal) => buildVectorIndex(databaseUrl, embedder, segment, signal),
  dropUnused: (embedder) => dropVectorIndexes(databaseUrl, embedder, unusedSegments),
  drop: (embedder) => dropVectorIndexes(databaseUrl, embedder),
})

/**
 * Counts the embedder's vectors from a number on, up to `limit`. `end` is greater than every number. Uses the index
 * turn_vector_number.
 */
async function countNewerVectors(
  db: Db,
  embedder: string,
  from: number,
  limit: number,
): Promise<{ newer: number; end: number }> {
  const [row] = await db.of(SYSTEM).$queryRaw<[{ newer: number; end: number }]>`
    SELECT (SELECT count(*) FROM (
              SELECT FROM turn_vector v WHERE v.embedder = ${embedder}::text AND v.number >= ${from}::bigint
              ORDER BY v.number LIMIT ${limit}::integer) n)::integer AS newer,
           (SELECT coalesce(max(v.number), 0) + 1 FROM turn_vector v)::double precision AS end`
  return row
}

/**
 * Builds the index of a segment unless it exists or another process is building one of the embedder. First drops the
 * invalid index of a failed build. Takes about 15 s for 100,000 vectors of 384 components on two idle cores. Does not
 * block appends or searches.
 * @returns whether this call built the index
 * @internal Exported for tests and benchmarks.
 */
export function buildVectorIndex(
  databaseUrl: string,
  { name, dimension }: { name: string; dimension: number },
  segment: NewSegment,
  signal?: AbortSignal,
): Promise<boolean> {
  const index = indexName(name, segment)
  return withLockedClient(databaseUrl, name, signal, async (client) => {
    const existing = (await client.query<SegmentRow>(SEGMENTS, [prefixOf(name)])).rows.find((row) => row.name === index)
    if (existing?.valid) return false
    // The index may be invalid, or be left in part by a drop that was interrupted.
    await dropIndex(client, { index, table: TABLE })
    // This is enough to build the graph (the vectors and their links) in memory.
    const megabytes = Math.ceil((segment.rows * (2 * dimension + 400)) / 1e6)
    await client.query(`SET maintenance_work_mem = '${Math.min(Math.max(megabytes, MEMORY_MB.min), MEMORY_MB.max)}MB'`)
    const definition = `
      USING hnsw ((embedding::halfvec(${dimension})) halfvec_ip_ops) WITH (m = 16, ef_construction = 100)
      WHERE embedder = ${pg.escapeLiteral(name)} AND number >= ${segment.from}::bigint AND number < ${segment.to}::bigint`
    try {
      await createIndex(client, { index, table: TABLE }, definition)
    } catch (error) {
      if ((error as { code?: string }).code !== DISK_FULL) throw error
      // Parallel workers need shared memory, which is scarce in containers. Retry without them.
      await dropIndex(client, { index, table: TABLE })
      await client.query('SET max_parallel_maintenance_workers = 0')
      await createIndex(client, { index, table: TABLE }, definition)
    }
    return true
  })
}

/** Drops the embedder's indexes, or those of the chosen segments, unless a process is building one. */
async function dropVectorIndexes(
  databaseUrl: string,
  embedder: string,
  choose: (segments: readonly VectorSegment[]) => VectorSegment[] = (segments) => [...segments],
): Promise<void> {
  await withLockedClient(databaseUrl, embedder, undefined, async (client) => {
    const { rows } = await client.query<SegmentRow>(SEGMENTS, [prefixOf(embedder)])
    for (const segment of choose(rows.map(toSegment))) {
      await dropIndex(client, { index: indexName(embedder, segment), table: TABLE })
    }
    return true
  })
}

/**
 * Runs `work` on a separate connection without a statement timeout, under the lock of the embedder's indexes. Returns
 * its result, or false if another session has the lock. An abort of `signal` cancels the running statement.
 */
async function withLockedClient(
  databaseUrl: string,
  embedder: string,
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
      [LOCK_KEY, prefixOf(embedder)],
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
