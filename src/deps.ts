// The composition root, the only file that chooses adapters: Postgres or the embedded database, Redis or the in-process
// bus, the providers; and the domain's own state.

import { pino, type Logger } from 'pino'
import { createMemoryBus } from './bus/memory.ts'
import { createMemoryPresence } from './bus/memory-presence.ts'
import { createRedisBus } from './bus/redis.ts'
import { createRedisPresence } from './bus/redis-presence.ts'
import type { Config } from './config/config.ts'
import type { Deps } from './domain/deps.ts'
import type { Health, Platform } from './domain/platform.ts'
import { announceDelta, announceEntries, type JournalRange } from './domain/publisher.ts'
import { createJournalGrowth } from './domain/journal-growth.ts'
import { takeBackEdit } from './domain/erasure/derivatives.ts'
import { createFeeds } from './domain/event/feed.ts'
import { createInboxes } from './domain/event/inbox.ts'
import { createFactEmbedding } from './domain/fact/embed.ts'
import { createRecalledFacts } from './domain/fact/recalled.ts'
import type { CustomDetector } from './text/redact.ts'
import { createEmbedding } from './domain/indexing/embedding.ts'
import { createDeltaQueue } from './domain/streaming-turn/delta-queue.ts'
import { createAppendQueue } from './domain/turn/append-queue.ts'
import { createEmbedder, createFactServices, createSummarizers, findEmbedder } from './providers/registry.ts'
import { createStaticEmbedder } from './providers/static/embedder.ts'
import { createTokenCounter } from './text/tokens.ts'
import { createPool, createPrisma, ping, type Source } from './store/db.ts'
import { startEmbedded } from './store/embedded.ts'
import { createEmbeddedVectors } from './store/embedded-vectors.ts'
import { createJobQueue } from './store/job-queue.ts'
import { migrate } from './store/migrate.ts'
import { createPostgresVectors } from './store/postgres-vectors.ts'
import { vectorIndexes } from './store/vector-index.ts'

// What createDeps throws, for users of the library.
export { DataDirInUse } from './store/embedded.ts'
export { MigrationError } from './store/migrate.ts'

export type World = {
  deps: Deps
  /** Checks of what the server depends on, for /ready. */
  health: Health
  /** Resolves with the cause if the embedded database has failed for good: nothing can be served then. */
  failed: Promise<Error>
  close(): Promise<void>
}

/** Append statements that run at once on Postgres; the embedded database has one connection. */
const LANES = 2

export type DepsConfig = Pick<
  Config,
  | 'databaseUrl'
  | 'databasePoolSize'
  | 'redisUrl'
  | 'embedder'
  | 'summarizer'
  | 'extractor'
  | 'promptsDir'
  | 'redactFacts'
  | 'automatic'
  | 'limits'
  | 'streamLeaseMs'
  | 'presenceTtlMs'
  | 'logLevel'
> & {
  /** Directory of the embedded database; null keeps it in memory. */
  dataDir: string | null
  /** Detectors for the redaction of facts, in addition to the built-in ones; used if redactFacts is set. */
  detectors?: readonly CustomDetector[]
}

/**
 * Opens the database, applies missing migrations, and creates every dependency of the domain.
 * @throws CallFailed, DataDirInUse, MigrationError, or the database's own error
 */
export async function createDeps(config: DepsConfig, log: Logger = pino({ level: config.logLevel })): Promise<World> {
  // Cleanup steps, run in reverse, also if a later step fails.
  const undo: (() => unknown)[] = []
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    // First, because it finds configuration errors before any data is touched.
    const embedder = await createEmbedder(config.embedder, log)
    undo.push(() => embedder.close())
    const embedded = config.databaseUrl ? null : await startEmbedded(config.dataDir)
    if (embedded) undo.push(() => embedded.close())
    const source: Source = embedded
      ? { embedded }
      : { databaseUrl: config.databaseUrl!, poolSize: config.databasePoolSize }
    const pool = createPool(source, (err) => log.warn({ err }, 'a database connection broke'))
    undo.push(() => pool.end())
    const db = createPrisma(pool)
    undo.push(() => db.$disconnect())
    for (const name of await migrate(pool)) log.info({ name }, 'migrated')

    const bus = config.redisUrl
      ? await createRedisBus(config.redisUrl, log)
      : createMemoryBus((err) => log.error({ err }, 'a receiver of the bus failed'))
    undo.push(() => bus.close())
    const presence = config.redisUrl ? await createRedisPresence(config.redisUrl, log) : createMemoryPresence()
    undo.push(() => presence.close())
    const tokens = createTokenCounter()
    undo.push(() => tokens.close())
    const words = config.embedder.kind === 'static' ? embedder : await createStaticEmbedder()
    if (words !== embedder) undo.push(() => words.close())
    const lent = { words, tokens, promptsDir: config.promptsDir }
    const summarizers = await createSummarizers(config.summarizer, lent)
    undo.push(() => summarizers.close())
    const factServices = await createFactServices(config.extractor, lent)
    undo.push(() => factServices.close())
    const jobs = createJobQueue(pool, (err) => log.warn({ err }, 'the job queue failed to do something and retries it'))
    undo.push(() => jobs.close())

    const vectors = embedded ? createEmbeddedVectors(db) : createPostgresVectors(db)
    const embedding = createEmbedding(
      { db, vectors, embedder, log },
      {
        find: (known) => findEmbedder(known, config.embedder, log),
        indexes: embedded ? null : vectorIndexes(db, config.databaseUrl!),
      },
    )
    undo.push(() => embedding.stop())
    const factEmbedding = createFactEmbedding({ db, embedding, log })
    undo.push(() => factEmbedding.stop())
    const recalledFacts = createRecalledFacts({ db, log })
    undo.push(() => recalledFacts.stop())

    const journalGrowth = createJournalGrowth()
    const platform: Platform = {
      pool,
      db,
      bus,
      presence,
      tokens,
      embedder,
      vectors,
      summarizers,
      factServices,
      jobs,
      journalGrowth,
      log,
      onJournalGrowth(grown) {
        embedding.nudge(grown.map(({ conversationId }) => conversationId))
        for (const { conversationId } of grown) journalGrowth.grew(conversationId)
      },
      redactFacts: config.redactFacts,
      detectors: config.detectors ?? [],
      automatic: config.automatic,
      limits: config.limits,
      streamLeaseMs: config.streamLeaseMs,
      presenceTtlMs: config.presenceTtlMs,
    }
    const feeds = createFeeds(platform)
    undo.push(() => feeds.close())
    const deps: Deps = {
      ...platform,
      takeBackEdit,
      feeds,
      inboxes: createInboxes(platform),
      embedding,
      factEmbedding,
      recalledFacts,
      appends: createAppendQueue(pool, embedded ? 1 : LANES, (answered) =>
        announceEntries(platform, answered.flatMap(journalRangesOf)),
      ),
      deltas: createDeltaQueue(pool, config.limits.turnBytes, (conversationId, turnId, start, text) =>
        announceDelta(platform, conversationId, turnId, start, text),
      ),
    }
    await embedding.start()
    factEmbedding.start()
    return {
      deps,
      close,
      failed: embedded ? embedded.died : new Promise(() => {}),
      health: {
        database: () => ping(pool),
        bus: () => bus.ping(),
        durability: embedded
          ? 'Embedded database: acknowledged writes survive the end of the process, but not a power failure. '
            + 'Set DATABASE_URL for that.'
          : 'Postgres: acknowledged writes survive a power failure.',
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

type Answered = Parameters<Parameters<typeof createAppendQueue>[2]>[0][number]

/** The journal ranges that a call has written, including entries of actors who joined by it. */
function journalRangesOf({ call, rows }: Answered): JournalRange[] {
  const { tenant, conversationId } = call
  return rows.flatMap(({ outcome, detail, seq }) =>
    outcome === 'written' ? [{ tenant, conversationId, first: detail === 'joined' ? seq - 1 : seq, last: seq }] : [],
  )
}
