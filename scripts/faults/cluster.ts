// The servers under test: processes whose clocks differ, each behind a proxy for its clients, on an embedded database
// or on a Postgres and a Redis behind proxies of their own. Processes that end are started again.

import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Random } from '../attacks/random.ts'
import { createServerProcess, startServices, type Server } from '../../test/system/processes.ts'
import { newDataDir } from '../../test/support/backend.ts'
import { createProxy, type Proxy } from '../../test/support/proxy.ts'
import { startEmbedded } from '../../src/store/embedded/embedded.ts'
import { createSmallDisk, type SmallDisk } from './small-disk.ts'

/** Name of the pair of services, which no other test and no other checkout uses. */
export const PAIR = `check-faults-${createHash('sha256')
  .update(import.meta.url)
  .digest('hex')
  .slice(0, 8)}`
const PREFIX = 'colloquy_faults_'
/** Number of processes on Postgres and Redis. The embedded database serves one process. */
const PROCESSES = 4
/** Seconds after which a silent streaming turn is aborted. */
const LEASE_SECONDS = 3
/** Offsets of the servers' clocks, ms. Each start chooses one at random. */
const OFFSETS_MS = [0, 300_000, -300_000, 0]

export type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>

/** A server process, and the proxy that its clients use. */
export type Member = { server: Server; proxy: Proxy; url: string }

export type Services = {
  /** URLs that bypass the proxies. */
  server: string
  databaseUrl: string
  postgres: Proxy
  redis: Proxy
  disk: SmallDisk | { reason: string }
}

export type Cluster = {
  store: string
  members: Member[]
  /** Null on the embedded database. */
  services: Services | null
  /** The reasons why processes ended, except those that a fault ended. */
  exits: string[]
  /** Starts the process. Tries again until it is ready. */
  start(member: Member): Promise<void>
  /** Ends all processes, and calls `read` with the database. */
  finish<T>(read: (query: Query) => Promise<T>): Promise<T>
  /** Ends all processes, and drops the database. */
  close(): Promise<void>
}

const PRELOAD = fileURLToPath(new URL('./skewed-clock.ts', import.meta.url))

async function withClient<T>(options: string | pg.ClientConfig, use: (query: Query) => Promise<T>): Promise<T> {
  const client = new pg.Client(options)
  client.on('error', () => {})
  await client.connect()
  try {
    return await use(async (sql, values) => (await client.query(sql, values)).rows)
  } finally {
    await client.end().catch(() => {})
  }
}

const queryDatabase = <T>({ databaseUrl }: Services, use: (query: Query) => Promise<T>) => withClient(databaseUrl, use)

/** Calls `use` with the embedded database in the directory, which no process may have open. */
async function withDatabase<T>(dataDir: string, use: (query: Query) => Promise<T>): Promise<T> {
  const embedded = await startEmbedded(dataDir)
  try {
    return await withClient(embedded.connection, use)
  } finally {
    await embedded.close()
  }
}

/** Drops the databases of this run, and of an earlier one that was interrupted. */
async function dropDatabases(query: Query): Promise<void> {
  const names = await query<{ datname: string }>(`SELECT datname FROM pg_database WHERE datname LIKE '${PREFIX}%'`)
  for (const { datname } of names) await query(`DROP DATABASE ${datname} WITH (FORCE)`)
}

async function openServices(seconds: number): Promise<Services> {
  const { server, redisUrl } = await startServices(PAIR)
  await withClient(server, dropDatabases)
  const disk = await createSmallDisk(server, 512 + seconds)
  const name = `${PREFIX}${process.pid}`
  await withClient(server, (query) =>
    query(`CREATE DATABASE ${name} ${'tablespace' in disk ? `TABLESPACE ${disk.tablespace}` : ''}`),
  )
  const databaseUrl = Object.assign(new URL(server), { pathname: `/${name}` }).href
  return { server, databaseUrl, postgres: await createProxy(databaseUrl), redis: await createProxy(redisUrl), disk }
}

export type ClusterSettings = {
  store: string
  /** Duration of the run, which determines the size of the disk. */
  seconds: number
  /** Environment variables of every process. */
  env?: Record<string, string>
  /** SQL that changes the embedded database before the process starts. */
  plant?: string
}

/** Starts the processes on an empty database. */
export async function openCluster(
  { store, seconds, env = {}, plant }: ClusterSettings,
  random: Random,
): Promise<Cluster> {
  const services = store === 'postgres' ? await openServices(seconds) : null
  const dataDir = services ? null : await newDataDir()
  const site = services ? { databaseUrl: services.postgres.url, redisUrl: services.redis.url } : { dataDir: dataDir! }
  if (plant) await withDatabase(dataDir!, (query) => query(plant))
  const members: Member[] = []
  const exits: string[] = []
  let closing = false

  async function start(member: Member): Promise<void> {
    while (!closing) {
      try {
        return await member.server.start()
      } catch {
        await sleep(500) // Postgres or Redis may be down.
      }
    }
  }
  for (let n = 0; n < (services ? PROCESSES : 1); n++) {
    const server = await createServerProcess(site, {
      preload: PRELOAD,
      env: () => ({
        STREAM_LEASE_SECONDS: String(LEASE_SECONDS),
        ...env,
        CLOCK_OFFSET_MS: String(random.pick(OFFSETS_MS)),
      }),
    })
    const proxy = await createProxy(`http://${server.url}`)
    const member = { server, proxy, url: new URL(proxy.url).host }
    server.onExit((reason) => {
      if (closing) return
      exits.push(reason)
      void start(member)
    })
    members.push(member)
  }
  await Promise.all(members.map(start))

  const stop = async (name: NodeJS.Signals) => {
    closing = true
    await Promise.all(members.map(({ server }) => server.kill(name)))
    await Promise.all(members.map(({ proxy }) => proxy.close()))
  }
  return {
    store,
    members,
    services,
    exits,
    start,
    async finish(read) {
      await stop('SIGTERM')
      if (services) return queryDatabase(services, read)
      return withDatabase(dataDir!, read)
    },
    async close() {
      // A process that a fault has stopped ignores other signals.
      await stop('SIGKILL')
      if (dataDir) await rm(dataDir, { recursive: true })
      if (!services) return
      await Promise.all([services.postgres.close(), services.redis.close()])
      await withClient(services.server, dropDatabases)
      if ('close' in services.disk) await services.disk.close()
    },
  }
}
