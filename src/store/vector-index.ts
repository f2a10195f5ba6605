// The HNSW index of an embedder's vectors, on Postgres: over half-precision vectors of its dimension, partial, so that
// no embedder's vectors burden another's. Made in one go when there are many vectors: filled row by row it costs more
// than all else that an embedding does. No migration knows of it.

import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Db } from './db.ts'

/** Names of identifiers are cut at 63 bytes; an embedder's may be longer. */
const indexName = (embedder: string) =>
  `turn_vector_hnsw_${createHash('md5').update(embedder).digest('hex').slice(0, 16)}`

/** Namespace of advisory locks, the low half being the hash of the index's name: "CQVI". */
const LOCKS = 0x43515649
const MEMORY_MB = { least: 64, most: 1024 }
const DISK_FULL = '53100'

type VectorIndex = {
  /** False while it is being made, and for what a making that failed left behind. */
  valid: boolean
  /** Vectors in it, as of the last count; since then there may be more. */
  rows: number
}

/** The embedder's index, or null. */
export async function readVectorIndex(db: Db, embedder: string): Promise<VectorIndex | null> {
  const rows = await db.$queryRaw<VectorIndex[]>`
    SELECT i.indisvalid AS valid, greatest(c.reltuples, 0)::integer AS rows
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indexrelid = to_regclass(${indexName(embedder)}::text)`
  return rows[0] ?? null
}

/** What is done with indexes, for whoever keeps house. */
export type VectorIndexes = {
  read(embedder: string): Promise<VectorIndex | null>
  make(embedder: { name: string; dimension: number }, count: number, signal: AbortSignal): Promise<boolean>
  drop(embedder: string): Promise<void>
}

export const vectorIndexes = (db: Db, databaseUrl: string): VectorIndexes => ({
  read: (embedder) => readVectorIndex(db, embedder),
  make: (embedder, count, signal) => makeVectorIndex(databaseUrl, embedder, count, signal),
  drop: (embedder) => dropVectorIndex(databaseUrl, embedder),
})

/**
 * Makes the index unless it is there, or somebody else is about it. Takes a quarter of a minute for 100,000 vectors of
 * 384 components on two idle cores; appends and searches go on. What a making left half-done is dropped first.
 * @param count vectors to come, about, to say how much memory is used
 * @returns whether it was made
 */
export function makeVectorIndex(
  databaseUrl: string,
  { name, dimension }: { name: string; dimension: number },
  count: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const index = indexName(name)
  return withLockedClient(databaseUrl, index, signal, async (client) => {
    const {
      rows: [known],
    } = await client.query<{ valid: boolean }>(
      'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1::text)',
      [index],
    )
    if (known?.valid) return false
    if (known) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
    // The graph is built in memory, if it fits: each vector with its links.
    const megabytes = Math.ceil((count * (2 * dimension + 400)) / 1e6)
    await client.query(
      `SET maintenance_work_mem = '${Math.min(Math.max(megabytes, MEMORY_MB.least), MEMORY_MB.most)}MB'`,
    )
    const make = `
      CREATE INDEX CONCURRENTLY ${index} ON turn_vector
      USING hnsw ((embedding::halfvec(${dimension})) halfvec_ip_ops) WITH (m = 16, ef_construction = 100)
      WHERE embedder = ${pg.escapeLiteral(name)}`
    try {
      await client.query(make)
    } catch (error) {
      if ((error as { code?: string }).code !== DISK_FULL) throw error
      // Containers give little shared memory, which is what workers need to help.
      await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
      await client.query('SET max_parallel_maintenance_workers = 0')
      await client.query(make)
    }
    return true
  })
}

/** Drops the embedder's index, if there is one and nobody is making it. */
export async function dropVectorIndex(databaseUrl: string, embedder: string): Promise<void> {
  const index = indexName(embedder)
  await withLockedClient(databaseUrl, index, undefined, async (client) => {
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
    return true
  })
}

/** On a connection of its own, without time limits; false where another holds the index's lock. */
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
  // A connection that breaks fails the statement that runs; that is where it is told.
  client.on('error', () => {})
  await client.connect()
  const {
    rows: [self],
  } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const cancel = () => void cancelBackend(databaseUrl, self!.pid)
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    const {
      rows: [lock],
    } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock($1::integer, hashtext($2::text)) AS taken',
      [LOCKS, index],
    )
    return lock!.taken && (await work(client))
  } finally {
    signal?.removeEventListener('abort', cancel)
    await client.end()
  }
}

/** Ends what the backend does; a second connection is the only way to say so. */
async function cancelBackend(databaseUrl: string, pid: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT pg_cancel_backend($1::integer)', [pid])
  } catch {
    // Then it goes on until it is done: nothing depends on it.
  } finally {
    await client.end().catch(() => {})
  }
}
