// The Postgres and Redis of the benchmarks. Each benchmark runs on an empty database, which is dropped at its end.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps, type OpenDeps } from '../../src/deps.ts'

export type Services = { databaseUrl: string; redisUrl: string }

/** The parameters of a benchmark. */
export type Bench = { services: Services; progress(message: string): void }

/** Returns the services from the environment, or the names of the missing variables. */
export function findServices(env: Record<string, string | undefined>): Services | string[] {
  const databaseUrl = env.TEST_DATABASE_URL || env.DATABASE_URL
  const redisUrl = env.TEST_REDIS_URL || env.REDIS_URL
  if (databaseUrl && redisUrl) return { databaseUrl, redisUrl }
  return [
    ...(databaseUrl ? [] : ['TEST_DATABASE_URL or DATABASE_URL']),
    ...(redisUrl ? [] : ['TEST_REDIS_URL or REDIS_URL']),
  ]
}

/** Runs one SQL command on a new connection. */
export async function execute(server: string, command: string): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    await client.query(command)
  } finally {
    await client.end()
  }
}

/** Interval of the checks of `settle`, ms. */
const CHECK_MS = 250
const MAX_WAIT_MS = 300_000
/** `quietMs` for the database of a server, whose sweeps build indexes every 10 s. */
export const SERVER_QUIET_MS = 12_000
/** Statements of other connections that have run for 0.1 s, and autovacuums. Periodic background work is shorter. */
const RUNNING = `
  SELECT count(*)::integer AS running FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND (state = 'active' AND query_start < now() - interval '0.1 s' OR backend_type = 'autovacuum worker')`

/**
 * Updates the planner's statistics, and waits until background work in the database has ended, such as building the
 * index of new vectors: a measurement beside it would compare the load of the machine.
 * @param quietMs time without background work after which it has ended, ms; more than the interval of its sweeps
 */
export async function settle(databaseUrl: string, quietMs = 3_000): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    await client.query('VACUUM ANALYZE')
    const begin = performance.now()
    for (let quietSince = begin; performance.now() - quietSince < quietMs;) {
      await sleep(CHECK_MS)
      const { rows } = await client.query<{ running: number }>(RUNNING)
      if (rows[0]!.running > 0) quietSince = performance.now()
      if (performance.now() - begin > MAX_WAIT_MS) throw new Error(`the database is busy for ${MAX_WAIT_MS / 1_000} s`)
    }
  } finally {
    await client.end()
  }
}

const drops = new Map<string, () => Promise<void>>()

/** Drops the databases that still exist, for an interrupted run. */
export async function dropDatabases(): Promise<void> {
  await Promise.all([...drops.values()].map((drop) => drop()))
}

/** Runs `use` with an empty database, which is dropped afterwards. */
export async function withDatabase<T>(server: string, use: (url: string) => Promise<T>): Promise<T> {
  const name = `colloquy_bench_${randomBytes(6).toString('hex')}`
  const drop = async () => {
    drops.delete(name)
    await execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
  await execute(server, `CREATE DATABASE ${name}`)
  drops.set(name, drop)
  try {
    return await use(Object.assign(new URL(server), { pathname: `/${name}` }).href)
  } finally {
    await drop()
  }
}

/** Creates the domain's dependencies in this process, with default settings and the given ones. */
export function openDeps(
  databaseUrl: string,
  redisUrl: string,
  settings: Record<string, string> = {},
): Promise<OpenDeps> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, ...settings })
  return createDeps(config, pino({ level: 'warn' }, pino.destination(2)))
}
