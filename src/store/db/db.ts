// Access to the database: a pg pool, and Prisma on the same pool. The embedded database has a single connection; only
// this file, connections.ts, tx.ts and job-queue.ts depend on that.

import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { every, systemClock } from '../../runtime/clock.ts'
import { reasonOf } from '../../runtime/log.ts'
import { QueueDelay } from '../../runtime/queue-delay.ts'
import type { Embedded } from '../embedded/embedded.ts'
import { type Prisma, PrismaClient } from '../generated/client.ts'
import { nameOf } from '../sql/kernel/sql.ts'
import { runMaintenance } from './maintenance.ts'
import { scopeOfPrisma, SYSTEM, type Scope } from './scope.ts'
import { PREPARE_SCOPES } from './scoped-query.ts'
import { TenantPool, type Pool } from './tenant-pool.ts'

/** Prisma outside a transaction. */
export type Db = {
  /**
   * Prisma for statements of this scope. Do not call findUnique: Prisma merges all findUnique calls of one tick into
   * one statement, which would have the scope of the first call.
   */
  of(scope: Scope): Tx
  /** Prisma without a scope, for `withTransaction`. */
  readonly prisma: PrismaClient
  /** Returns the error to throw for an error of `prisma`: DatabaseUnavailable in an outage, or else the same error. */
  errorOf(error: unknown): unknown
  /** Loads Prisma's query compiler, without connecting to the database. The first statement does it otherwise. */
  load(): Promise<void>
  $disconnect(): Promise<void>
}
/** Prisma inside a transaction. */
export type Tx = Prisma.TransactionClient

/**
 * The database to connect to. `statementMs`: time limit of a statement, TIMEOUT_MS by default; none if embedded.
 * `connectMs`: time limit to connect, TIMEOUT_MS by default; if it is given, a statement of a server that no longer
 * responds fails as well.
 */
export type Source =
  | { databaseUrl: string; poolSize: number; statementMs?: number; connectMs?: number }
  | { embedded: Embedded }

/** Time limit of the wait for a connection, of idleness in a transaction and, by default, of a statement, in ms. */
const TIMEOUT_MS = 30_000
/** Interval of the embedded database's maintenance, in ms. */
const MAINTENANCE_MS = 30_000
/**
 * Settings of every connection. UTC, because Prisma writes and reads times in UTC without an offset. No JIT, because
 * compiling a large recall statement takes longer than running it. random_page_cost is 1.1, because a random read costs
 * about as much as a sequential one: the data is in memory or on flash. With the default of 4, the planner reads and
 * sorts a whole conversation for a page. Named statements keep generic plans (scoped-query.ts). Long texts are
 * compressed by lz4 if Postgres was built with it: a batch of 15 MB is stored in 60 % of the time that pglz, the
 * default, takes, in as many bytes.
 */
const SETTINGS = `
  SET TIME ZONE 'UTC'; SET jit = off; SET random_page_cost = 1.1; SET plan_cache_mode = force_generic_plan;
  SELECT set_config(name, 'lz4', false) FROM pg_settings
  WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)`
// Ids of Postgres' types.
const INT8 = 20
const TIMESTAMPTZ = 1184

const parseAnyTime = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date

/** Parses a time such as `2026-03-01 09:30:00.5+00`. Rewriting it to ISO 8601 before parsing halves the time. */
const parseTime = (text: string): Date =>
  text[4] === '-' && text[10] === ' ' && text.endsWith('+00')
    ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
    : parseAnyTime(text)

const parsers = new Map<number, (text: string) => unknown>([
  // This is exact, because counts and sizes are far below 2^53. Prisma uses its own parsers, which return bigint.
  [INT8, Number],
  [TIMESTAMPTZ, parseTime],
])

const common = {
  connectionTimeoutMillis: TIMEOUT_MS,
  types: {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && parsers.get(oid)) || pg.types.getTypeParser(oid, format),
  },
} satisfies pg.PoolConfig

/** Makes a connection run as colloquy_app, and prepares the statements that set the scope. */
const AS_APP = `SET ROLE colloquy_app; ${PREPARE_SCOPES}`

/**
 * Creates the pool of the server, which runs as colloquy_app. Errors of idle connections are passed to `onError`; the
 * connections are replaced when next needed. Close in this order: Prisma, the pool, the embedded database.
 */
export function createPool(source: Source, onError: (error: Error) => void, delay = new QueueDelay()): Pool {
  const pool = new TenantPool(configOf(source, `${SETTINGS}; ${AS_APP}`), delay) as unknown as Pool & pg.Pool
  reportErrors(pool, onError)
  // Not earlier, because migrations need the only connection.
  if ('embedded' in source) pool.once('connect', () => maintain(pool, onError))
  return pool
}

/** Creates a pool that runs as the user of the URL, for migrations. If embedded, no other pool may be open. */
export function createOwnerPool(source: Source, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool(configOf(source, SETTINGS))
  reportErrors(pool, onError)
  return pool
}

function reportErrors(pool: pg.Pool, onError: (error: Error) => void): void {
  // The pool listens to a connection only while it is idle. Without a listener, the loss of a connection that is in use
  // between two statements would end the process. Its next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', (error: Error & { client?: unknown }) => {
    // pg attaches the whole client, which must not be logged.
    delete error.client
    if (!pool.ending) onError(error)
  })
}

/** @param settings statements that each connection runs when it opens */
function configOf(source: Source, settings: string): pg.PoolConfig {
  if ('embedded' in source)
    return {
      ...common,
      ...source.embedded.connection,
      max: 1,
      idleTimeoutMillis: 0,
      // All connections share one backend, which keeps the prepared statements and settings of the previous connection.
      // oxlint-disable-next-line typescript/no-misused-promises -- pg awaits the promise; its types do not say so
      onConnect: async (client) => {
        await client.query('DISCARD ALL')
        await client.query(settings)
      },
    }
  return {
    ...common,
    connectionString: source.databaseUrl,
    application_name: 'colloquy',
    max: source.poolSize,
    keepAlive: true,
    ...(source.connectMs !== undefined && {
      connectionTimeoutMillis: source.connectMs,
      query_timeout: (source.statementMs ?? TIMEOUT_MS) + source.connectMs,
    }),
    // oxlint-disable-next-line typescript/no-misused-promises -- pg awaits the promise; its types do not say so
    onConnect: async (client) => void (await client.query(settings)),
    statement_timeout: source.statementMs ?? TIMEOUT_MS,
    // A process that hangs in a transaction must not keep its conversations locked.
    idle_in_transaction_session_timeout: TIMEOUT_MS,
  }
}

/** Runs the embedded database's maintenance until the pool ends. */
function maintain(pool: Pool, onError: (error: Error) => void): void {
  const stop = every(systemClock, MAINTENANCE_MS, () => (pool.ending ? stop() : runMaintenance(pool).catch(onError)))
}

/**
 * Creates Prisma on the pool. The caller ends the pool after `$disconnect`. Raw statements that start with a name in a
 * comment are prepared under that name: see `named` in ./sql/sql.ts.
 */
export function createPrisma(pool: Pool): Db {
  const adapter = new PrismaPg(pool as unknown as pg.Pool, { statementNameGenerator: (query) => nameOf(query.sql) })
  const prisma = new PrismaClient({ adapter })
  const errorOf = (error: unknown) => pool.errorOf(error)
  return {
    prisma,
    of: (scope) => scoped(prisma, scope, errorOf),
    errorOf,
    load: () => prisma.$connect(),
    $disconnect: () => prisma.$disconnect(),
  }
}

/** Returns an object whose methods, and those of its objects, run with the scope. They throw what `errorOf` returns. */
function scoped<T extends object>(target: T, scope: Scope, errorOf: Db['errorOf']): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value === 'function')
        return (...args: unknown[]) =>
          scopeOfPrisma.run(scope, async () => {
            try {
              return (await value.apply(target, args)) as unknown
            } catch (error) {
              throw errorOf(error)
            }
          })
      return typeof value === 'object' && value !== null ? scoped(value, scope, errorOf) : value
    },
  })
}

/** Postgres accepted no connection when the process started. The message contains no credentials. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable'
}

/** Checks that the pool can connect to the database. @throws DatabaseUnreachable */
export async function checkConnection(pool: pg.Pool, databaseUrl: string): Promise<void> {
  try {
    const client = await pool.connect()
    client.release()
  } catch (cause) {
    const { host, pathname } = new URL(databaseUrl)
    const subject = `Postgres at ${host || 'the default host'}, database ${JSON.stringify(pathname.slice(1))}`
    const nextStep = 'Check DATABASE_URL, and that Postgres is running and accepts this user.'
    throw new DatabaseUnreachable(`${subject}, cannot be used: ${reasonOf(cause as Error)}. ${nextStep}`, { cause })
  }
}

/** Rejects if the database does not respond within TIMEOUT_MS. */
export const ping = (pool: Pool): Promise<unknown> => pool.query({ text: 'SELECT 1', scope: SYSTEM })

/** Postgres' code of a statement that was cancelled, by its time limit or on request. */
const QUERY_CANCELED = '57014'

/** Whether the database cancelled the statement. It cancels a read only when the read exceeds its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, meta } = error as Error & { code?: string; meta?: unknown }
  // Prisma has codes of its own and describes the database's error in `meta`.
  return code === QUERY_CANCELED || (meta !== undefined && JSON.stringify(meta).includes(QUERY_CANCELED))
}

/** Classes of Postgres' codes for data that a statement must not contain: data exceptions and violated constraints. */
const REFUSED = /"(?:originalCode|code)":"2[23]\w{3}"/

/** Whether the database refused a statement of Prisma because of its data. */
export function isRefusedData(error: unknown): boolean {
  const { meta } = error instanceof Error ? (error as Error & { meta?: unknown }) : {}
  return meta !== undefined && REFUSED.test(JSON.stringify(meta))
}
