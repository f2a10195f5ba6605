// Checks the database: reachable, migrated, indexed, and behind with work. Writes nothing: a database that does not exist is
// not created, and missing migrations are not applied.

import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { QUEUES } from '../domain/background/job/worker.ts'
import type { Source } from '../store/db/db.ts'
import { DataDirInUse, startEmbedded } from '../store/embedded/embedded.ts'
import { readDatabaseState, readWorkState, type DatabaseState, type WorkState } from '../store/db/inspect-database.ts'
import { checked, CHECK_MS, failure, ok, warning, type Finding } from './finding.ts'

/** Time limit for the embedded database, which must start, ms. */
const EMBEDDED_MS = 30_000
const GiB = 1024 ** 3
const MiB = 1024 ** 2
/** Free disk space below which the embedded database gets a warning or a failure, in bytes. */
const FREE = { warning: GiB, failure: 100 * MiB }
/** Number of vectors without an index that is usual, because an index is built for 10,000 of them. */
const USUAL_UNINDEXED = 20_000
/** Age of a waiting job from which workers are too slow or missing, in seconds. */
const OLD_JOB_SECONDS = 600
/** First version of pgvector with iterative scans, which recall uses. */
const VECTOR = '0.8.0'

/** Whether version `a`, of numbers and dots, is older than `b`. @internal */
export function isOlder(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number)) as [number[], number[]]
  const at = right.findIndex((number, index) => number !== (left[index] ?? 0))
  return at >= 0 && (left[at] ?? 0) < right[at]!
}

const sizeOf = (bytes: number) => (bytes >= GiB ? `${(bytes / GiB).toFixed(1)} GiB` : `${Math.ceil(bytes / MiB)} MiB`)

function findingOfVector({ installed, available }: DatabaseState['vector']): Finding {
  if (installed !== null && !isOlder(installed, VECTOR)) return ok('vector', `extension vector ${installed}`)
  if (installed !== null) {
    const next = `install pgvector ${VECTOR} or later, and run ALTER EXTENSION vector UPDATE`
    return failure('vector', `extension vector ${installed} is older than ${VECTOR}`, next)
  }
  if (available === null) return failure('vector', 'extension vector is not available', 'install pgvector in Postgres')
  const next = 'start the server as a role that may create it, or see docs/operations.md#docker'
  return warning('vector', `extension vector is not installed yet; version ${available} is available`, next)
}

function findingOfMigrations(migrations: DatabaseState['migrations']): Finding {
  if ('problem' in migrations)
    return failure('migrations', migrations.problem, 'run the version that fits the database')
  const { missing } = migrations
  if (missing.length === 0) return ok('migrations', 'all are applied')
  const next = 'back up the database, and start the server, which applies them'
  const which =
    missing.length === 1 ? `${missing[0]} is missing` : `${missing.length} are missing, the first is ${missing[0]}`
  return warning('migrations', which, next)
}

/** Returns the findings about the state of the database. @internal */
export function findingsOfState(state: DatabaseState, poolSize: number): Finding[] {
  const { version, bytes, isStandby, maxConnections, invalidIndexes } = state
  const name = `Postgres ${version}, ${sizeOf(bytes)}`
  return [
    isStandby
      ? failure('database', `${name}, is a standby, which accepts no writes`, 'set DATABASE_URL to the primary')
      : ok('database', name),
    ...(poolSize > maxConnections
      ? [
          warning(
            'connections',
            `DATABASE_POOL_SIZE is ${poolSize}, but Postgres accepts ${maxConnections}`,
            'lower it',
          ),
        ]
      : []),
    findingOfVector(state.vector),
    findingOfMigrations(state.migrations),
    ...invalidIndexes.map((index) =>
      warning('indexes', `${index} is invalid`, `run REINDEX INDEX CONCURRENTLY ${index}`),
    ),
  ]
}

/** Returns the findings about the work that is due. @internal */
export function findingsOfWork({ isolation, embedding, unindexed, queues }: WorkState, embedder: string): Finding[] {
  if (isolation !== null) return [failure('isolation', isolation, 'see docs/security.md')]
  const findings = [ok('isolation', 'row-level security separates the tenants')]
  const start = 'keep a server running; `colloquy jobs` shows its progress'
  if (embedding === null) {
    findings.push(
      warning('vectors', `${embedder} has embedded nothing yet`, `start the server, which embeds all turns`),
    )
  } else if (embedding.remaining > 0) {
    findings.push(warning('vectors', `${embedding.remaining} entries are not embedded by ${embedder}`, start))
  } else findings.push(ok('vectors', `${embedder} has embedded all entries`))
  if (unindexed !== null && unindexed > USUAL_UNINDEXED) {
    findings.push(warning('indexes', `${unindexed} or more vectors have no index, so recall is slow`, start))
  }
  const count = (state: string) =>
    queues.filter((each) => each.state === state).reduce((sum, each) => sum + each.count, 0)
  const oldest = Math.max(0, ...queues.filter(({ state }) => state === 'waiting').map(({ ageSeconds }) => ageSeconds))
  const jobs = `${count('waiting')} jobs wait, ${count('active')} run, ${count('retrying')} are retried`
  if (count('retrying') > 0) findings.push(warning('jobs', jobs, '`colloquy jobs --state RETRYING` shows the reasons'))
  else if (oldest > OLD_JOB_SECONDS) {
    findings.push(warning('jobs', `${jobs}; the oldest has waited ${Math.round(oldest)} s`, start))
  } else findings.push(ok('jobs', jobs))
  return findings
}

/** Reads the database at the source. `embedder` is null if the embedder cannot be created. */
async function inspectSource(
  source: { owner: Source; server: Source },
  embedder: string | null,
  poolSize: number,
): Promise<Finding[]> {
  const state = await readDatabaseState(source.owner)
  const findings = findingsOfState(state, poolSize)
  const isMigrated = 'missing' in state.migrations && state.migrations.missing.length === 0
  if (!isMigrated || embedder === null) return findings
  return [...findings, ...findingsOfWork(await readWorkState(source.server, embedder, Object.values(QUEUES)), embedder)]
}

const postgres = (databaseUrl: string): Source => ({
  databaseUrl,
  poolSize: 1,
  connectMs: CHECK_MS - 1_000,
  statementMs: CHECK_MS - 1_000,
})

async function inspectReplica(databaseUrl: string): Promise<readonly Finding[]> {
  return checked('replica', 'check DATABASE_READ_URL; meanwhile, reads use DATABASE_URL', async () => {
    const { isStandby, version } = await readDatabaseState(postgres(databaseUrl))
    if (isStandby) return [ok('replica', `Postgres ${version}, a standby`)]
    const next = 'set it to a physical standby of DATABASE_URL, or unset it'
    return [failure('replica', 'DATABASE_READ_URL is no standby', next)]
  })
}

/** Returns the findings about the disk and the permissions of a data directory, or of the place where it will be. */
async function inspectDirectory(dataDir: string): Promise<Finding[]> {
  let existing = dataDir
  while (!existsSync(existing)) existing = dirname(existing)
  const { bavail, bsize } = await statfs(existing)
  const free = bavail * bsize
  const message = `${sizeOf(free)} are free at ${dataDir}`
  const disk =
    free < FREE.failure
      ? failure('disk', message, 'free some space, or set DATA_DIR')
      : free < FREE.warning
        ? warning('disk', message, 'free some space, or set DATA_DIR')
        : ok('disk', message)
  const isOpen = process.platform !== 'win32' && existing === dataDir && (statSync(dataDir).mode & 0o077) !== 0
  return isOpen ? [disk, warning('disk', `other users may open ${dataDir}`, `run chmod 700 ${dataDir}`)] : [disk]
}

async function inspectEmbedded(
  dataDir: string,
  embedder: string | null,
): Promise<{ findings: Finding[]; isInUse: boolean }> {
  if (!existsSync(join(dataDir, 'postgres'))) {
    return { findings: [ok('database', 'embedded; it is created at the first start')], isInUse: false }
  }
  try {
    const embedded = await startEmbedded(dataDir)
    const source = { embedded }
    try {
      return { findings: await inspectSource({ owner: source, server: source }, embedder, 1), isInUse: false }
    } finally {
      await embedded.close()
    }
  } catch (error) {
    if (!(error instanceof DataDirInUse)) throw error
    return { findings: [ok('database', `embedded, open in process ${error.pid}`)], isInUse: true }
  }
}

/** `isInUse`: whether another process has the embedded database open, so that only that process can be asked. */
export async function inspectDatabase(
  config: Config,
  embedder: string | null,
): Promise<{ findings: readonly Finding[]; isInUse: boolean }> {
  const { databaseUrl, migrationDatabaseUrl = databaseUrl, databaseReadUrl } = config
  if (databaseUrl) {
    const source = { owner: postgres(migrationDatabaseUrl!), server: postgres(databaseUrl) }
    const next = 'check DATABASE_URL, and that Postgres is running and accepts this user'
    const [primary, replica] = await Promise.all([
      checked('database', next, () => inspectSource(source, embedder, config.databasePoolSize), 3 * CHECK_MS),
      databaseReadUrl ? inspectReplica(databaseReadUrl) : [],
    ])
    return { findings: [...primary, ...replica], isInUse: false }
  }
  const dataDir = resolve(config.dataDir)
  const disk = await checked('disk', 'check DATA_DIR', () => inspectDirectory(dataDir))
  let isInUse = false
  const next = 'restore a copy of DATA_DIR, or start the server to see the reason'
  const database = await checked(
    'database',
    next,
    async () => {
      const inspected = await inspectEmbedded(dataDir, embedder)
      isInUse = inspected.isInUse
      return inspected.findings
    },
    EMBEDDED_MS,
  )
  return { findings: [...disk, ...database], isInUse }
}
