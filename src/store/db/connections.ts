// The connections of a process, divided by use. On Postgres, a third is for appends and deltas, so that slow reads
// cannot delay them. Another third is for other writes and background work. The rest is for reads of requests; their
// statements have a short time limit. The embedded database has one connection for all statements.

import type { Pool } from './tenant-pool.ts'
import type { Logger } from 'pino'
import type { QueueDelays } from '../../runtime/queue-delay.ts'
import { checkConnection, createOwnerPool, createPool, createPrisma, isStatementTimeout, type Db } from './db.ts'
import type { Embedded } from '../embedded/embedded.ts'
import { migrate } from './migrate.ts'

type Settings = {
  databaseUrl?: string
  migrationDatabaseUrl?: string
  databasePartitions?: number
  databasePoolSize: number
  readTimeoutMs: number
}

export type Connections = {
  pool: Pool
  db: Db
  reads: { pool: Pool; db: Db; timeoutMs: number; isTimeout(error: unknown): boolean }
  appendPool: Pool
  /** Size of the read pool, or EMBEDDED_READS. Determines each tenant's limit of concurrent reads (tenant-gates.ts). */
  readConnections: number
  /** Closes the connections after their running statements. Close the embedded database afterwards. */
  close(): Promise<void>
}

/** `readConnections` of the embedded database. */
const EMBEDDED_READS = 4

/** Divides the connections to Postgres. */
function shareConnections(poolSize: number) {
  const appends = Math.floor(poolSize / 3)
  const writes = Math.floor(poolSize / 3)
  return { appends, writes, reads: poolSize - appends - writes }
}

function openPools(
  settings: Settings,
  embedded: Embedded | null,
  onError: (error: Error) => void,
  delays: QueueDelays,
) {
  if (embedded) {
    const pool = createPool({ embedded }, onError, delays.writeConnections)
    return { pool, readPool: pool, appendPool: pool, readConnections: EMBEDDED_READS }
  }
  const databaseUrl = settings.databaseUrl!
  const { appends, writes, reads } = shareConnections(settings.databasePoolSize)
  return {
    pool: createPool({ databaseUrl, poolSize: writes }, onError, delays.writeConnections),
    readPool: createPool(
      { databaseUrl, poolSize: reads, statementMs: settings.readTimeoutMs },
      onError,
      delays.readConnections,
    ),
    appendPool: createPool({ databaseUrl, poolSize: appends }, onError, delays.appendConnections),
    readConnections: reads,
  }
}

/** Applies missing migrations as the owner of the tables. @throws DatabaseUnreachable, MigrationError, PartitionError */
export async function migrateAsOwner(
  {
    databaseUrl,
    migrationDatabaseUrl = databaseUrl,
    databasePartitions: partitions,
  }: Pick<Settings, 'databaseUrl' | 'migrationDatabaseUrl' | 'databasePartitions'>,
  embedded: Embedded | null,
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<void> {
  const source = embedded ? { embedded } : { databaseUrl: migrationDatabaseUrl!, poolSize: 1 }
  const owner = createOwnerPool(source, (err) => log.warn({ err }, 'a database connection failed'))
  try {
    if (!embedded) await checkConnection(owner, migrationDatabaseUrl!)
    // Reads the migrations while the embedded database starts.
    const connect = async () => {
      await embedded?.serving
      return owner.connect()
    }
    const migrations = await migrate({ connect }, { partitions })
    if (migrations.length > 0) log.info({ migrations }, 'migrated the database')
  } finally {
    await owner.end()
  }
}

/**
 * @param embedded the embedded database; null to connect to Postgres
 * @param delays measure the waits for connections
 */
export function openConnections(
  settings: Settings,
  embedded: Embedded | null,
  onError: (error: Error) => void,
  delays: QueueDelays,
): Connections {
  const { pool, readPool, appendPool, readConnections } = openPools(settings, embedded, onError, delays)
  const db = createPrisma(pool)
  const readDb = readPool === pool ? db : createPrisma(readPool)
  return {
    pool,
    db,
    reads: { pool: readPool, db: readDb, timeoutMs: settings.readTimeoutMs, isTimeout: isStatementTimeout },
    appendPool,
    readConnections,
    async close() {
      for (const each of new Set([db, readDb])) await each.$disconnect()
      for (const each of new Set([pool, readPool, appendPool])) await each.end()
    },
  }
}
