// The databases that suites run on: `describe.each(backends)('$name', …)`. Each opening is a migrated database of its
// own, so suites neither wait for nor see each other. TEST_DATABASE_URL and TEST_REDIS_URL add the real services.

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createPool, createPrisma, type Db, type Source } from '../../src/store/db.ts'
import { startEmbedded } from '../../src/store/embedded.ts'
import { migrate } from '../../src/store/migrate.ts'

export type Opened = {
  pool: pg.Pool
  db: Db
  /** Of the database, where it is a server that other processes can reach too. */
  url?: string
  /** Of a Redis that goes with it. */
  redisUrl?: string
  close(): Promise<void>
}

export type Backend = { name: string; open(): Promise<Opened> }

const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env

const embedded: Backend = {
  name: 'embedded',
  async open() {
    const dataDir = await newDataDir()
    const database = await startEmbedded(dataDir)
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

/** A data directory as its first start leaves it. Copying one is faster than that start, so what it made is kept. */
export async function newDataDir(): Promise<string> {
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  const { version } = JSON.parse(await readFile(join(modules, '@electric-sql/pglite/package.json'), 'utf8'))
  const kept = join(modules, '.cache', `colloquy-embedded-${version}`)
  if (!existsSync(kept)) {
    const draft = `${kept}.${process.pid}`
    await (await startEmbedded(draft)).close()
    // Whoever is faster wins; they made the same.
    await rename(draft, kept).catch(() => rm(draft, { recursive: true }))
  }
  const directory = await mkdtemp(join(tmpdir(), 'colloquy-test-'))
  await cp(kept, directory, { recursive: true })
  return directory
}

function postgres(server: string): Backend {
  return {
    name: 'postgres',
    async open() {
      const name = `colloquy_${randomBytes(8).toString('hex')}`
      const url = Object.assign(new URL(server), { pathname: `/${name}` }).href
      await administer(server, `CREATE DATABASE ${name}`)
      const { pool, db, close } = await connect({ databaseUrl: url, poolSize: 10 })
      return {
        pool,
        db,
        url,
        redisUrl: TEST_REDIS_URL,
        async close() {
          await close()
          await administer(server, `DROP DATABASE ${name} WITH (FORCE)`)
        },
      }
    },
  }
}

async function connect(source: Source) {
  const pool = createPool(source, console.error)
  await migrate(pool)
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

async function administer(server: string, command: string): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  await client.query(command)
  await client.end()
}

export const backends: Backend[] = TEST_DATABASE_URL ? [embedded, postgres(TEST_DATABASE_URL)] : [embedded]
