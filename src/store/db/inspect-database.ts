// Reads the state of a database for `colloquy doctor`: version, extension, migrations, and the work that is due. Writes
// nothing: the first connection has a read-only transaction, and the statements of the second only select.

import { readQueueSizes, type QueueSize } from '../sql/background/read-queue-sizes.ts'
import { readEmbedderProgress, readEmbedders, type EmbedderProgress } from '../sql/memory/indexing/embedders.ts'
import { createOwnerPool, createPool, createPrisma, type Source } from './db.ts'
import { checkIsolation } from './isolation.ts'
import { findMissing } from './migrate.ts'
import { vectorIndexes } from '../vectors/vector-index.ts'
import { coverOf } from '../vectors/vector-segments.ts'

export type DatabaseState = {
  /** Version of Postgres, for example 17.2. */
  version: string
  /** Maximum number of connections of the server, and whether it is a standby. */
  maxConnections: number
  isStandby: boolean
  /** Size of the database, in bytes. */
  bytes: number
  /** Versions of the extension vector: the one in use, and the one that could be installed; null for none. */
  vector: { installed: string | null; available: string | null }
  /** Names of the missing migrations, or the reason why the recorded ones do not match this version. */
  migrations: { missing: string[] } | { problem: string }
  /** Names of indexes that are unusable, because their creation failed. */
  invalidIndexes: string[]
}

const STATE = `
  SELECT current_setting('server_version') AS version,
         current_setting('max_connections')::integer AS "maxConnections",
         pg_is_in_recovery() AS "isStandby",
         pg_database_size(current_database())::double precision AS bytes,
         (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS installed,
         (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS available,
         ARRAY(SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
               WHERE NOT i.indisvalid AND c.relnamespace = 'public'::regnamespace
                 AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index) ORDER BY 1) AS invalid`

type StateRow = Omit<DatabaseState, 'vector' | 'migrations' | 'invalidIndexes'> & {
  installed: string | null
  available: string | null
  invalid: string[]
}

/** Reads the state in a read-only transaction, as the user of the URL. @throws the error of the connection */
export async function readDatabaseState(source: Source): Promise<DatabaseState> {
  const pool = createOwnerPool(source, () => {})
  try {
    const client = await pool.connect()
    try {
      await client.query('BEGIN READ ONLY')
      const { rows } = await client.query<StateRow>(STATE)
      const { installed, available, invalid, ...state } = rows[0]!
      const migrations = await findMissing(client).then(
        (missing) => ({ missing }),
        (error: Error) => {
          if (error.name !== 'MigrationError') throw error
          return { problem: error.message }
        },
      )
      return { ...state, vector: { installed, available }, migrations, invalidIndexes: invalid }
    } finally {
      // Closes the connection, which ends the transaction.
      client.release(true)
    }
  } finally {
    await pool.end()
  }
}

export type WorkState = {
  /** The reason why tenants are not isolated; null if they are. */
  isolation: string | null
  /** Progress of the configured embedder; null if it was never registered. */
  embedding: EmbedderProgress | null
  /** Number of vectors that no index covers, at most `MAX_COUNTED`; null for the embedded database, which has none. */
  unindexed: number | null
  queues: QueueSize[]
}

/** Maximum number of vectors without an index that are counted. */
const MAX_COUNTED = 100_000

/** Reads the work that is due in a migrated database, as the server's role. @throws the error of the connection */
export async function readWorkState(source: Source, embedder: string, queues: readonly string[]): Promise<WorkState> {
  const pool = createPool(source, () => {})
  const db = createPrisma(pool)
  try {
    const isolation = await checkIsolation(pool).then(
      () => null,
      (error: Error) => error.message,
    )
    if (isolation !== null) return { isolation, embedding: null, unindexed: null, queues: [] }
    const isRegistered = (await readEmbedders(db)).some(({ name }) => name === embedder)
    return {
      isolation,
      embedding: isRegistered ? await readEmbedderProgress(db, embedder) : null,
      unindexed: 'embedded' in source ? null : await countUnindexed(db, source.databaseUrl, embedder),
      queues: await readQueueSizes(db, queues),
    }
  } finally {
    await db.$disconnect()
    await pool.end()
  }
}

async function countUnindexed(
  db: ReturnType<typeof createPrisma>,
  databaseUrl: string,
  embedder: string,
): Promise<number> {
  const indexes = vectorIndexes(db, databaseUrl)
  const { gaps } = coverOf(await indexes.read(embedder))
  return (await indexes.countNewer(embedder, gaps.at(-1)!.from, MAX_COUNTED)).newer
}
