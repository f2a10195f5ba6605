// Migrates a database to this version's schema: applies prisma/migrations in order of name, each once and atomically.
// Records them in Prisma's own table, so that `prisma migrate` remains usable. Only one process migrates at a time.

import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DatabaseError, Pool, PoolClient } from 'pg'
import { ensurePartitions } from '../scaling/partitions.ts'

/** The database's migrations do not match those of this version, or a migration failed and was rolled back. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** The key that Prisma uses, so that `prisma migrate deploy` cannot run at the same time. */
const ADVISORY_LOCK = 72707369

// Prisma's own definition of the table.
const RECORD = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  varchar(36) PRIMARY KEY NOT NULL,
    checksum            varchar(64) NOT NULL,
    finished_at         timestamptz,
    migration_name      varchar(255) NOT NULL,
    logs                text,
    rolled_back_at      timestamptz,
    started_at          timestamptz NOT NULL DEFAULT now(),
    applied_steps_count integer NOT NULL DEFAULT 0
  )`

type Migration = { name: string; sql: string; checksum: string }

const DIRECTORY = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))

/**
 * Applies the missing migrations and returns their names.
 * @param partitions number of partitions of a database without conversations; by default, none are created
 * @throws MigrationError if a recorded migration was edited, was not completed or is unknown to this version, or if a
 * statement fails; earlier migrations remain applied
 * @throws PartitionError if the database has conversations and another number of partitions
 */
export async function migrate(
  pool: Pick<Pool, 'connect'>,
  { directory = DIRECTORY, partitions }: { directory?: string; partitions?: number | undefined } = {},
): Promise<string[]> {
  const migrations = await readMigrations(directory)
  const client = await pool.connect()
  try {
    // Waiting for other processes, or rewriting a large table, may exceed the usual statement timeout.
    await client.query('SET statement_timeout = 0; RESET ROLE')
    await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK])
    const applied = await applyMissing(client, migrations)
    if (partitions !== undefined) await ensurePartitions(client, partitions)
    await grantCreation(client)
    return applied
  } finally {
    // Closes the connection instead of returning it: this releases the lock, resets the setting and rolls back a failed
    // transaction.
    client.release(true)
  }
}

/**
 * Lets colloquy_system create the schema of the job queue. Not a migration, because a copy of the database, as from a
 * template or a dump, does not have the grants on the original.
 */
async function grantCreation(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ grant: string }>(`
    SELECT format('GRANT CREATE ON DATABASE %I TO colloquy_system', current_database()) AS grant
    FROM pg_roles WHERE rolname = 'colloquy_system' AND NOT has_database_privilege(oid, current_database(), 'CREATE')`)
  for (const { grant } of rows) await client.query(grant)
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/** Reads which of the migrations are missing. @throws MigrationError if the recorded ones do not match them */
async function readMissing(client: Pick<PoolClient, 'query'>, migrations: Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean }>(`
    SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
    FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`)
  const byName = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const { name, checksum, finished } of rows) {
    const migration = byName.get(name)
    if (!finished)
      throw new MigrationError(`Migration ${name} failed and was not completed: see \`prisma migrate resolve\`.`)
    if (!migration) throw new MigrationError(`The database has migration ${name} of a newer version. Update Colloquy.`)
    if (migration.checksum !== checksum) {
      throw new MigrationError(`Migration ${name} was edited after it was applied. Restore it and add a new migration.`)
    }
  }
  const applied = new Set(rows.map(({ name }) => name))
  return migrations.filter(({ name }) => !applied.has(name))
}

/**
 * Returns the names of the missing migrations without applying them; all names if the database has none.
 * @throws MigrationError as `migrate`
 */
export async function findMissing(client: Pick<PoolClient, 'query'>): Promise<string[]> {
  const migrations = await readMigrations(DIRECTORY)
  const { rows } = await client.query<{ is: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS is`)
  return (rows[0]!.is ? await readMissing(client, migrations) : migrations).map(({ name }) => name)
}

async function applyMissing(client: PoolClient, migrations: Migration[]): Promise<string[]> {
  await client.query(RECORD)
  const missing = await readMissing(client, migrations)
  for (const migration of missing) await apply(client, migration)
  return missing.map(({ name }) => name)
}

async function apply(client: PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(sql)
  } catch (cause) {
    const { message, hint } = cause as DatabaseError
    throw new MigrationError(`Migration ${name} failed: ${message}.${hint ? ` ${hint}` : ''}`, { cause })
  }
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  )
  await client.query('COMMIT')
}
