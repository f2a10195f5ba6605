// Determines the embedders in use, and the embedder that serves searches. An embedder is complete once it has processed
// all journal entries that are older than its registration. Until the configured embedder is complete, searches use the
// newest complete one, and both embed new turns. Later, vector-maintenance.ts deletes the vectors of older embedders.
// The progress is stored in the database, so any process can continue where another stopped.

import { every } from '../../../runtime/clock.ts'
import { CallFailed } from '../../../providers/ports/call-failed.ts'
import { type Embedder } from '../../../providers/ports/embedder.ts'
import {
  markFilled,
  readEmbedders,
  readEmbedderProgress,
  registerEmbedder,
  type EmbedderRow,
} from '../../../store/sql/memory/indexing/embedders.ts'
import type { VectorIndexes } from '../../../store/vectors/vector-index.ts'
import type { Platform } from '../../kernel/platform.ts'
import { createPace, type EmbeddingProgress } from './progress.ts'
import { createEmbeddingWorkers } from './workers.ts'
import { maintainVectors } from './vector-maintenance.ts'

export type Embedding = {
  /** Returns the embedder that serves searches now. Embed the query with it, and search the vectors under its name. */
  serving(): Embedder
  /** Notifies the workers of new entries in these conversations. */
  nudge(conversationIds: Iterable<string>): void
  /** Returns the progress of the configured embedder. */
  progress(): Promise<EmbeddingProgress>
  /**
   * Registers the configured embedder and starts the workers. Call it once, before the first search.
   * @throws CallFailed if the configured embedder's stored vectors have another dimension
   */
  start(): Promise<void>
  /** Stops the workers and the sweeps. Another process, or this one after a restart, continues the work. */
  stop(): Promise<void>
}

type EmbeddingOptions = {
  /** Creates an embedder that was configured before; null if this process cannot create it. */
  find(previous: { name: string; dimension: number }): Promise<Embedder | null>
  /** Null if the database has no vector indexes. */
  indexes: VectorIndexes | null
  /** Milliseconds between checks for work, and for changes by other processes. Defaults to SWEEP_MS. */
  sweepMs?: number
}

type EmbeddingPlatform = Pick<Platform, 'clock' | 'db' | 'pool' | 'vectors' | 'embedder' | 'log'>

/** Default interval between sweeps, in milliseconds. */
const SWEEP_MS = 10_000

/** Caches the embedders that were configured before, until they are closed. */
function createEmbedderCache(configured: Embedder, find: EmbeddingOptions['find']) {
  /** Null for an embedder that this process cannot create. */
  const created = new Map<string, Embedder | null>()
  return {
    async of({ name, dimension }: EmbedderRow): Promise<Embedder | null> {
      if (name === configured.name) return configured
      if (!created.has(name)) created.set(name, await find({ name, dimension }))
      return created.get(name)!
    },
    async close(name: string): Promise<void> {
      await created.get(name)?.close()
      created.delete(name)
    },
    async closeAll(): Promise<void> {
      for (const embedder of created.values()) await embedder?.close()
    },
  }
}

/** Returns the newest complete embedder that this process can create, and its index `at` in the rows; null for none. */
async function newestComplete(
  rows: readonly EmbedderRow[],
  embedderOf: (row: EmbedderRow) => Promise<Embedder | null>,
): Promise<{ embedder: Embedder; at: number } | null> {
  for (const [at, row] of rows.entries()) {
    const embedder = row.filledAt ? await embedderOf(row) : null
    if (embedder) return { embedder, at }
  }
  return null
}

/** Creates the service that embeds turns in this process. `start` starts it. */
export function createEmbedding(platform: EmbeddingPlatform, options: EmbeddingOptions): Embedding {
  const { db, embedder: configured, log } = platform
  const { indexes, sweepMs = SWEEP_MS } = options
  const cache = createEmbedderCache(configured, options.find)
  const workers = createEmbeddingWorkers(platform, (embedder) => {
    if (embedder === configured && !isComplete && !signal.aborted) markIfComplete().catch(logFailure)
  })
  const pace = createPace(platform.clock, log, () => readEmbedderProgress(db, configured.name))
  const stopping = new AbortController()
  const { signal } = stopping
  let serving = configured
  /** Whether the configured embedder is complete. */
  let isComplete = false
  let stopSweeping = async () => {}
  /** The running maintenance; null for none. Sweeps do not wait for it, because it may take minutes. */
  let maintenance: Promise<void> | null = null

  const logFailure = (err: unknown) => {
    if (!signal.aborted) log.warn({ err }, 'could not maintain the embedders and their vectors; retrying')
  }

  /** Selects the embedder that serves searches, and starts and stops workers. Returns the stored embedders. */
  async function refresh(): Promise<EmbedderRow[]> {
    const rows = await readEmbedders(db)
    const configuredAt = rows.findIndex(({ name }) => name === configured.name)
    isComplete = rows[configuredAt]?.filledAt != null
    const complete = await newestComplete(rows, cache.of)
    if (signal.aborted) return []
    const next = complete?.embedder ?? configured
    if (next.name !== serving.name) {
      serving = next
      log.info({ embedder: serving.name }, 'searches now use the vectors of another embedder')
    }
    const inUse = new Set<Embedder>()
    if (complete) inUse.add(complete.embedder)
    // The configured embedder is not in use if a newer embedder, which another process configured, is complete.
    if (configuredAt >= 0 && (!complete || configuredAt <= complete.at)) inUse.add(configured)
    await workers.keep(inUse)
    return rows
  }

  /** Records that the configured embedder is complete, if it is. */
  async function markIfComplete(): Promise<void> {
    if (!(await markFilled(db, configured.name))) return
    log.info({ embedder: configured.name }, 'the embedder has processed all entries older than its registration')
    await refresh()
  }

  async function sweep(): Promise<void> {
    workers.sweep()
    if (!isComplete) await markIfComplete()
    const rows = await refresh()
    await pace.report(configured.name, 4 * configured.batch)
    maintenance ??= maintainVectors({ db, log, indexes }, { rows, serving: serving.name }, cache.close, signal)
      .catch(logFailure)
      .finally(() => {
        maintenance = null
      })
  }

  async function register(): Promise<void> {
    const { name, dimension } = configured
    const stored = await registerEmbedder(db, name, dimension)
    if (stored === dimension) return
    throw new CallFailed(
      `The stored vectors of ${name} have ${stored} dimensions, but the model now returns ${dimension}. `
        + `Set EMBEDDING_DIMENSIONS to ${stored}, or choose another model.`,
      false,
    )
  }

  return {
    serving: () => serving,
    nudge: workers.nudge,
    progress: async () => ({ ...(await pace.now()), embedder: configured.name, serving: serving.name }),
    async start() {
      await register()
      // In a database without turns, the configured embedder is complete immediately.
      await markFilled(db, configured.name)
      await refresh()
      stopSweeping = every(platform.clock, sweepMs, () => sweep().catch(logFailure))
    },
    async stop() {
      stopping.abort(new Error('embedding was stopped'))
      await stopSweeping()
      await workers.stop()
      await maintenance
      await cache.closeAll()
    },
  }
}
