// The composition root: the only file that chooses adapters. It also creates the domain's state in this process.

import type { Pool } from './store/db/tenant-pool.ts'
import type { Logger } from 'pino'
import { systemClock, type Clock } from './runtime/clock.ts'
import type { Bus } from './bus/bus.ts'
import { createMemoryBus } from './bus/memory.ts'
import { createMemoryPresence } from './bus/memory-presence.ts'
import { createConnections } from './domain/kernel/live/connections.ts'
import { createWriters } from './domain/kernel/live/writers.ts'
import { createMemoryRateLimit } from './bus/memory-rate-limit.ts'
import type { Deps } from './domain/deps.ts'
import type { DepsConfig } from './deps-config.ts'
import type { Health, Platform } from './domain/kernel/platform.ts'
import { createAuditLog } from './domain/kernel/audit/audit-log.ts'
import { integrityKeysOf } from './domain/kernel/audit/integrity.ts'
import { announceEntries } from './domain/kernel/live/publisher.ts'
import { createJournalNotifier } from './domain/kernel/live/journal-notifier.ts'
import { createKnownActors } from './domain/kernel/rights/known-actor.ts'
import { moveFacts } from './domain/trust/erasure/change-visibility.ts'
import { createTenantCache } from './domain/conversation/tenant-cache.ts'
import { createAnswerBudget } from './domain/kernel/limits/byte-budget.ts'
import { createTenantActivity } from './domain/kernel/limits/tenant-activity.ts'
import { createTenantGates } from './domain/kernel/limits/tenant-gates.ts'
import { updateDerivatives } from './domain/trust/erasure/run-derivatives.ts'
import { createFeeds } from './domain/turn/journal/feeds.ts'
import { createInboxes } from './domain/turn/journal/inboxes.ts'
import { createFactEmbedding } from './domain/memory/fact/index/index-facts.ts'
import { createIndexCache } from './domain/memory/recall/index/index-cache.ts'
import { createSizeCache } from './domain/memory/context/budget/size-cache.ts'
import { createTurnGuesses } from './domain/memory/context/material/turn-guesses.ts'
import { createScopeGuesses } from './domain/memory/recall/scope-guesses.ts'
import { createRecalledFacts } from './domain/memory/fact/index/recalled.ts'
import { createEmbedding } from './domain/memory/indexing/embedder-in-use.ts'
import { createEngine } from './domain/agent/run/answer/engine.ts'
import { createStateTool } from './domain/agent/run/tools/state-tool.ts'
import { createDeltas } from './domain/turn/streaming/held-deltas.ts'
import { createAppendQueue, journalRangesOf } from './domain/turn/append/append-queue.ts'
import type { Embedder } from './providers/ports/embedder.ts'
import { createEmbedder, findEmbedder } from './providers/registry.ts'
import { createServices } from './providers/services.ts'
import { requireVersion } from './runtime/package-versions.ts'
import { openFiles } from './open-files.ts'
import { createLog } from './runtime/log.ts'
import { createCleanup, type Cleanup, type Opening } from './runtime/cleanup.ts'
import { createQueueDelays } from './runtime/queue-delay.ts'
import { migrateAsOwner, openConnections } from './store/db/connections.ts'
import { ping } from './store/db/db.ts'
import { launchEmbedded, type Embedded } from './store/embedded/embedded.ts'
import { createEmbeddedVectors } from './store/vectors/embedded-vectors.ts'
import { checkIsolation } from './store/db/isolation.ts'
import { createJobQueue } from './store/jobs/job-queue.ts'
import { logOutages } from './store/db/outage.ts'
import { openReplica, type Replica } from './store/scaling/replica.ts'
import { createPostgresVectors } from './store/vectors/postgres-vectors.ts'
import { vectorIndexes } from './store/vectors/vector-index.ts'

export type { DepsConfig } from './deps-config.ts'
// Errors that createDeps throws.
export { DatabaseUnreachable } from './store/db/db.ts'
export { DataDirInUse } from './store/embedded/embedded.ts'
export { MigrationError } from './store/db/migrate.ts'
export { PartitionError } from './store/scaling/partitions.ts'
export { CallFailed } from './providers/ports/call-failed.ts'

export type OpenDeps = {
  deps: Deps
  /** The pools of connections to the database, for metrics. The embedded database has one pool for all uses. */
  pools: Record<'writes' | 'reads' | 'appends', Pool>
  /** Health checks for /ready. */
  health: Health
  /**
   * Resolves with the cause if the embedded database fails. Only a restart can repair this. Never resolves with
   * Postgres.
   */
  failed: Promise<Error>
  /** Closes every dependency in reverse order of creation. */
  close(): Promise<void>
}

/** Maximum number of concurrent append statements on Postgres. The embedded database has only one connection. */
const APPEND_CONCURRENCY = 2

/** Opens the database and applies missing migrations. `embedded` is null with Postgres. `starting`: see createDeps. */
export async function openStore(
  config: DepsConfig,
  { clock, log, cleanup }: Opening,
  starting?: Promise<Embedded> | null,
) {
  requireVersion('pg')
  const embedded = config.databaseUrl ? null : await (starting ?? launchEmbedded(config.dataDir))
  if (embedded) cleanup.add(() => embedded.close())
  const onError = (err: Error) => log.warn({ err }, 'a database connection failed')
  const delays = createQueueDelays(clock)
  // The pools connect only when the first statement is sent.
  const connections = openConnections(config, embedded, onError, delays)
  logOutages(new Set([connections.pool, connections.reads.pool, connections.appendPool]), log)
  cleanup.add(() => connections.close())
  await Promise.all([migrateAsOwner(config, embedded, log), connections.db.load()])
  await checkIsolation(connections.pool)
  return { embedded, delays, ...connections }
}

type OpenStore = Awaited<ReturnType<typeof openStore>>

/** Connects to the read replica. Returns null if none is configured. @throws NotReplica @throws NotIsolated */
async function openReads(config: DepsConfig, store: OpenStore, { log, cleanup }: Opening): Promise<Replica | null> {
  const { databaseReadUrl, readTimeoutMs } = config
  if (store.embedded || databaseReadUrl === undefined) return null
  const { readConnections: poolSize, delays, reads } = store
  const settings = { databaseReadUrl, readTimeoutMs, poolSize, delay: delays.replicaConnections }
  const replica = await openReplica(settings, reads, log)
  cleanup.add(() => replica.close())
  return replica
}

/** Creates the bus, presence store and rate limit of a single process. `rateLimitPoints` is 0 for no limit. */
const openInProcess = (rateLimitPoints: number, clock: Clock, log: Logger) => ({
  bus: createMemoryBus((err) => log.error({ err }, 'a receiver of the bus failed')),
  presence: createMemoryPresence(clock),
  rates: rateLimitPoints === 0 ? null : createMemoryRateLimit(rateLimitPoints, clock),
})

/** Connects to Redis, or creates the in-process bus, presence store and rate limit. */
export async function openBus({ redisUrl, rateLimitPoints }: DepsConfig, { clock, log, cleanup }: Opening) {
  const opened = redisUrl
    ? await (await import('./bus/redis.ts')).openRedis(redisUrl, rateLimitPoints, clock, log)
    : openInProcess(rateLimitPoints, clock, log)
  for (const each of [opened.bus, opened.presence, opened.rates]) if (each) cleanup.add(() => each.close())
  return opened
}

/** Creates the embedding of turns and facts, not yet started, and the recorder of recalled facts. */
function createIndexing(
  config: DepsConfig,
  { embedded, pool, db, reads }: OpenStore,
  embedder: Embedder,
  { clock, log, cleanup }: Opening,
) {
  const vectors = embedded ? createEmbeddedVectors(db) : createPostgresVectors(db, { reads: reads.db })
  const embedding = createEmbedding(
    { clock, db, pool, vectors, embedder, log },
    {
      find: (stored) => findEmbedder(stored, config.embedder, log),
      indexes: embedded ? null : vectorIndexes(db, config.migrationDatabaseUrl ?? config.databaseUrl!),
    },
  )
  cleanup.add(() => embedding.stop())
  const factEmbedding = createFactEmbedding({ clock, db, embedding, log })
  cleanup.add(() => factEmbedding.stop())
  const recalledFacts = createRecalledFacts({ clock, db, log })
  cleanup.add(() => recalledFacts.stop())
  return { vectors, embedding, factEmbedding, recalledFacts }
}

/** Returns the settings that the domain reads; reads are of the present. */
const settingsOf = (config: DepsConfig) => ({
  moment: null,
  detectors: [...(config.detectors ?? []), ...(config.redactPatterns ?? [])],
  automatic: config.automatic,
  limits: config.limits,
  conversationVisibility: config.conversationVisibility ?? 'OPEN',
  auditDays: config.auditDays ?? 400,
  streamLeaseMs: config.streamLeaseMs,
  presenceTtlMs: config.presenceTtlMs,
})

/** Creates the state that the domain keeps in this process. */
function createDomainState(
  config: DepsConfig,
  platform: Platform,
  { embedded, appendPool }: OpenStore,
  cleanup: Cleanup,
) {
  const feeds = createFeeds(platform)
  cleanup.add(() => feeds.close())
  const engine = createEngine(config, [createStateTool(platform)])
  cleanup.add(() => engine.runs.close())
  return {
    updateDerivatives,
    moveFacts,
    feeds,
    indexes: createIndexCache(),
    scopes: createScopeGuesses(),
    sizes: createSizeCache(),
    turnGuesses: createTurnGuesses(),
    inboxes: createInboxes(platform),
    appends: createAppendQueue(
      { clock: platform.clock, pool: appendPool },
      embedded ? 1 : APPEND_CONCURRENCY,
      (calls) => announceEntries(platform, calls.flatMap(journalRangesOf)),
      platform.delays.appends,
    ),
    deltas: createDeltas(platform, appendPool),
    ...engine,
  }
}

const healthOf = ({ embedded, pool }: Pick<OpenStore, 'embedded' | 'pool'>, bus: Bus): Health => ({
  database: () => ping(pool),
  bus: () => bus.ping(),
  durability: embedded
    ? 'Embedded database: acknowledged writes survive the end of the process, but not a power failure. '
      + 'To survive one, set DATABASE_URL to use Postgres.'
    : 'Postgres: acknowledged writes survive a power failure.',
})

/**
 * Opens the database, applies missing migrations, and creates every dependency of the domain.
 * @param options.starting the embedded database of `config`, if it was started already; it is closed with the
 *   dependencies
 * @throws CallFailed, DatabaseUnreachable, DataDirInUse, MigrationError, PartitionError, or the database's own error
 */
export async function createDeps(
  config: DepsConfig,
  log: Logger = createLog(config.logLevel),
  { starting, clock = systemClock }: { starting?: Promise<Embedded> | null; clock?: Clock } = {},
): Promise<OpenDeps> {
  const cleanup = createCleanup()
  const opening: Opening = { clock, log, cleanup }
  try {
    // Create the embedder first, so that its configuration errors are found before the database is opened.
    const embedder = await createEmbedder(config.embedder, log)
    cleanup.add(() => embedder.close())
    const store = await openStore(config, opening, starting)
    const { embedded, pool, db, reads } = store
    const { bus, presence, rates } = await openBus(config, opening)
    const presenceDeps = { clock, db, bus, presence, presenceTtlMs: config.presenceTtlMs, log }
    const connections = createConnections(presenceDeps)
    cleanup.add(() => connections.close())
    const services = await createServices(config, embedder, log, cleanup)
    const jobs = createJobQueue(pool, (err) => log.warn({ err }, 'a job queue operation failed and will be retried'))
    cleanup.add(() => jobs.close())
    const { vectors, embedding, factEmbedding, recalledFacts } = createIndexing(config, store, embedder, opening)

    const integrityKeys = integrityKeysOf(config.integrityKey)
    const audit = createAuditLog({ clock, db, key: integrityKeys?.audit ?? null, log })
    cleanup.add(() => audit.close())
    const tenants = createTenantCache({ db, bus, log }, config)
    cleanup.add(() => tenants.close())
    const journalNotifier = createJournalNotifier()
    const activity = createTenantActivity(clock)
    const platform: Platform = {
      ...settingsOf(config),
      ...services,
      clock,
      pool,
      db,
      reads,
      gates: createTenantGates(clock, store.readConnections, activity),
      answers: createAnswerBudget(),
      activity,
      delays: store.delays,
      replica: await openReads(config, store, opening),
      knownActors: createKnownActors(),
      bus,
      presence,
      connections,
      writers: createWriters(presenceDeps),
      rates,
      embedder,
      vectors,
      jobs,
      audit,
      redaction: tenants.redaction,
      defaults: tenants.defaults,
      integrityKeys,
      journalNotifier,
      log,
      notifyWorkers(ranges, users = []) {
        if (ranges.length > 0) embedding.nudge(ranges.map(({ conversationId }) => conversationId))
        for (const { conversationId } of ranges) journalNotifier.conversationChanged(conversationId)
        if (users.length > 0) journalNotifier.usersChanged(users)
      },
    }
    const state = createDomainState(config, platform, store, cleanup)
    const files = await openFiles(config, db, clock)
    const deps: Deps = { ...platform, ...state, files, embedding, factEmbedding, recalledFacts }
    await embedding.start()
    factEmbedding.start()
    return {
      deps,
      pools: { writes: pool, reads: reads.pool, appends: store.appendPool },
      close: cleanup.run,
      failed: embedded ? embedded.died : new Promise(() => {}),
      health: healthOf({ embedded, pool }, bus),
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}
