// The databases that suites run on: `describe.each(backends)('$name', …)`. Each `open` creates a migrated database, so
// suites are independent. TEST_DATABASE_URL adds Postgres as a backend, together with the Redis of TEST_REDIS_URL.
// TEST_EMBEDDED=off then omits the embedded database, because CI runs all suites on it in `npm test`.
// TEST_DATABASE_PARTITIONS is the number of partitions of the databases on Postgres.

import { createHash, randomBytes } from 'node:crypto'
import { cpSync, existsSync, linkSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createOwnerPool, createPool, createPrisma, type Db, type Source } from '../../src/store/db/db.ts'
import * as store from '../../src/store/embedded/embedded.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import type { Pool } from '../../src/store/db/tenant-pool.ts'

export type Opened = {
  pool: Pool
  db: Db
  /** URL of the database. Undefined if embedded, because other processes cannot connect to it. */
  url?: string
  /** URL of Redis. Undefined if embedded, and without TEST_REDIS_URL. */
  redisUrl?: string
  close(): Promise<void>
}

export type Backend = { name: string; open(): Promise<Opened> }

const { TEST_DATABASE_URL, TEST_REDIS_URL, TEST_EMBEDDED, TEST_DATABASE_PARTITIONS } = process.env
const PARTITIONS = TEST_DATABASE_PARTITIONS ? Number(TEST_DATABASE_PARTITIONS) : undefined

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
/** Directory of the templates of embedded databases. */
export const TEMPLATES = join(MODULES, '.cache')

/** The embedded database, also for suites that test it alone. */
export const embedded: Backend = {
  name: 'embedded',
  async open() {
    const dataDir = await newWorldDir()
    const database = await store.startEmbedded(dataDir)
    const { pool, db, close } = await connect({ embedded: database })
    return {
      pool,
      db,
      async close() {
        await close()
        await database.close()
        await rm(dataDir, { recursive: true })
      },
    }
  },
}

/**
 * Creates the data directory of a migrated database that this process opens. It remains empty in tests that share a
 * process, because reused-embedded.ts stores the databases in other directories.
 */
export const newWorldDir = (): Promise<string> =>
  'isReused' in store ? mkdtemp(join(tmpdir(), 'colloquy-test-')) : newDataDir()

/**
 * Creates the data directory of a migrated database. Copies a template, which is created once for each version of the
 * migrations and cached in node_modules/.cache.
 */
export async function newDataDir(): Promise<string> {
  const template = join(TEMPLATES, `colloquy-embedded-${await schemaVersion()}`)
  if (!existsSync(template)) {
    await dropOldTemplates()
    const draft = `${template}.${process.pid}`
    const database = await store.startEmbedded(draft)
    const { close } = await connect({ embedded: database })
    await close()
    await database.close()
    // Another process may have created the same template first.
    await rename(draft, template).catch(() => rm(draft, { recursive: true }))
  }
  const directory = await mkdtemp(join(tmpdir(), 'colloquy-test-'))
  copyTemplate(template, directory)
  return directory
}

/** The directories of the databases template1 and template0, which are never written. */
const UNCHANGED = /\/base\/[14]\/./

/**
 * Copies a data directory of about 1,000 files. More than half of them do not change and become hard links.
 * Synchronous, because the asynchronous copy takes twice the CPU time.
 */
function copyTemplate(template: string, directory: string): void {
  const filter = (from: string, to: string) => {
    if (!UNCHANGED.test(from)) return true
    try {
      linkSync(from, to)
      return false
    } catch {
      return true // The directories are on different file systems.
    }
  }
  cpSync(template, directory, { recursive: true, filter })
}

/**
 * Deletes the templates of earlier versions of the migrations. Keeps the unfinished templates of other processes, whose
 * names contain a dot.
 */
async function dropOldTemplates(): Promise<void> {
  const names = existsSync(TEMPLATES) ? await readdir(TEMPLATES) : []
  const old = names.filter((name) => /^colloquy-embedded-[^.]+$/.test(name))
  await Promise.all(old.map((name) => rm(join(TEMPLATES, name), { recursive: true, force: true })))
}

/** A hash of everything that determines a freshly migrated database: PGlite's version and the migrations. */
const schemaVersion = once(async () => {
  const hash = createHash('sha256').update(await readFile(join(MODULES, '@electric-sql/pglite/package.json')))
  for (const name of (await readdir(MIGRATIONS)).sort()) {
    hash.update(name)
    if (name.includes('.')) continue
    hash.update(await readFile(join(MIGRATIONS, name, 'migration.sql')))
  }
  return hash.digest('hex').slice(0, 16)
})

function postgres(server: string): Backend {
  return {
    name: 'postgres',
    async open() {
      const name = `colloquy_${randomBytes(8).toString('hex')}`
      const url = urlOf(server, name)
      await withClient(server, async (client) => {
        await client.query(`CREATE DATABASE ${name} TEMPLATE ${await migratedTemplate(server, client)}`)
      })
      const { pool, db, close } = await connect({ databaseUrl: url, poolSize: 10 })
      return {
        pool,
        db,
        url,
        redisUrl: TEST_REDIS_URL,
        async close() {
          await close()
          await withClient(server, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))
        },
      }
    },
  }
}

/**
 * Returns the name of a migrated database to copy. The database is created once for each version of the migrations,
 * remains on the server, and gets its final name when it is complete. The lock stops concurrent test files from
 * creating it twice.
 */
async function migratedTemplate(server: string, client: pg.Client): Promise<string> {
  const name = `colloquy_template_${await schemaVersion()}_${PARTITIONS ?? 0}`
  await client.query('SELECT pg_advisory_lock(hashtext($1))', [name])
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
  if (rowCount === 0) {
    const draft = `${name}_draft`
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${draft}`)
    const { close } = await connect({ databaseUrl: urlOf(server, draft), poolSize: 1 })
    await close()
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`)
  }
  await client.query('SELECT pg_advisory_unlock(hashtext($1))', [name])
  return name
}

const urlOf = (server: string, database: string) => Object.assign(new URL(server), { pathname: `/${database}` }).href

async function connect(source: Source) {
  const owner = createOwnerPool(source, console.error)
  const partitions = 'embedded' in source ? undefined : PARTITIONS
  await migrate(owner, { partitions }).finally(() => owner.end())
  const pool = createPool(source, console.error)
  const db = createPrisma(pool)
  return {
    pool,
    db,
    async close() {
      await db.$disconnect()
      await pool.end()
    },
  }
}

async function withClient(server: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** Returns a function that calls `make` on its first call only, and always returns that result. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= make())
}

/**
 * All backends, regardless of TEST_EMBEDDED. For tests of killed processes, which run only with LONG=1, so that
 * `npm test` does not run them on the embedded database.
 */
export const everyBackend: Backend[] = TEST_DATABASE_URL ? [embedded, postgres(TEST_DATABASE_URL)] : [embedded]
export const backends: Backend[] = TEST_EMBEDDED === 'off' && TEST_DATABASE_URL ? everyBackend.slice(1) : everyBackend
