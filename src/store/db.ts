// The one way to the database: a pg pool, and Prisma on that same pool. All above sees Postgres; that the embedded
// database has one connection only shows here, and in what ./tx.ts forbids.

import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Embedded } from './embedded.ts'
import { type Prisma, PrismaClient } from './generated/client.ts'
import { nameOf } from './sql/sql.ts'
import { keepUp } from './upkeep.ts'

/** Prisma outside a transaction. */
export type Db = PrismaClient
/** Prisma inside one. */
export type Tx = Prisma.TransactionClient

/** Where the data is. */
export type Source = { databaseUrl: string; poolSize: number } | { embedded: Embedded }

/** No statement runs, and no caller waits for a connection, for longer than this. */
const PATIENCE_MS = 30_000
/** How often the embedded database is looked after. */
const UPKEEP_MS = 30_000
/** Prisma writes and reads times without their offset, as UTC. */
const UTC = `SET TIME ZONE 'UTC'`
const INT8 = 20
const TIMESTAMPTZ = 1184

const parseAnyTime = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date

/** In UTC, Postgres writes `2026-03-01 09:30:00.5+00`: almost ISO 8601, which the engine reads in half the time. */
const parseTime = (text: string): Date =>
  text[4] === '-' && text[10] === ' ' && text.endsWith('+00')
    ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
    : parseAnyTime(text)

const parsers = new Map<number, (text: string) => unknown>([
  // Our counts and sizes stay far below 2^53. Prisma brings parsers of its own and keeps them as bigint.
  [INT8, Number],
  [TIMESTAMPTZ, parseTime],
])

const common = {
  connectionTimeoutMillis: PATIENCE_MS,
  types: {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && parsers.get(oid)) || pg.types.getTypeParser(oid, format),
  },
} satisfies pg.PoolConfig

/**
 * The pool. Idle connections that break are told to `onError` and replaced when next needed.
 * Close in this order: Prisma, the pool, the embedded database.
 */
export function createPool(source: Source, onError: (error: Error) => void): pg.Pool {
  const pool = 'embedded' in source ? embeddedPool(source.embedded, onError) : serverPool(source)
  pool.on('error', (error: Error & { client?: unknown }) => {
    // The whole client hangs on it, which no log should hold.
    delete error.client
    if (!pool.ending) onError(error)
  })
  return pool
}

function serverPool({ databaseUrl, poolSize }: { databaseUrl: string; poolSize: number }): pg.Pool {
  return new pg.Pool({
    ...common,
    connectionString: databaseUrl,
    application_name: 'colloquy',
    max: poolSize,
    keepAlive: true,
    // oxlint-disable-next-line typescript/no-misused-promises -- pg awaits the promise; its types do not say so
    onConnect: async (client) => void (await client.query(UTC)),
    statement_timeout: PATIENCE_MS,
    // A process that stops in mid-transaction must not keep its conversations locked.
    idle_in_transaction_session_timeout: PATIENCE_MS,
  })
}

function embeddedPool({ connection }: Embedded, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    ...common,
    ...connection,
    max: 1,
    idleTimeoutMillis: 0,
    // The backend outlives connections: prepared statements and settings of the last one would still be there.
    // oxlint-disable-next-line typescript/no-misused-promises -- pg awaits the promise; its types do not say so
    onConnect: async (client) => {
      await client.query('DISCARD ALL')
      await client.query(UTC)
    },
  })
  const upkeep = setInterval(() => {
    if (pool.ending) clearInterval(upkeep)
    else keepUp(pool).catch(onError)
  }, UPKEEP_MS)
  upkeep.unref()
  return pool
}

/**
 * Prisma on the pool, which stays the caller's to end, after `$disconnect`. Raw statements that open with a name in a
 * comment are prepared under it: `named` in ./sql/sql.ts.
 */
export function createPrisma(pool: pg.Pool): Db {
  return new PrismaClient({ adapter: new PrismaPg(pool, { statementNameGenerator: (query) => nameOf(query.sql) }) })
}

/** Rejects when the database does not answer. */
export const ping = (pool: pg.Pool): Promise<unknown> => pool.query('SELECT 1')
