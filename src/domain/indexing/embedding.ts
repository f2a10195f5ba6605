// Which embedders are at work, and which one serves searches. A newly chosen embedder reads every conversation first;
// until it has, searches use the newest embedder that has, and both embed new turns. Then the vectors of older ones are
// deleted. The tables say how far each embedder is, so any process continues where another stopped.

import { CallFailed } from '../../providers/ports/call-failed.ts'
import { type Embedder } from '../../providers/ports/embedder.ts'
import {
  markFilled,
  readEmbedders,
  readReading,
  registerEmbedder,
  type EmbedderRow,
} from '../../store/sql/indexing/embedders.ts'
import type { VectorIndexes } from '../../store/vector-index.ts'
import { startPeriodic } from '../job/periodic.ts'
import type { Platform } from '../platform.ts'
import { createPace, type EmbeddingProgress } from './embedding-progress.ts'
import { createEmbeddingWorkers } from './embedding-workers.ts'
import { keepVectors } from './vector-upkeep.ts'

export type Embedding = {
  /** The embedder whose vectors searches use now: embed the query with it, look vectors up by its name. */
  searched(): Embedder
  /** These conversations have new entries: their turns get vectors soon. */
  nudge(conversationIds: Iterable<string>): void
  /** How far the chosen embedder is. */
  progress(): Promise<EmbeddingProgress>
  /** Once, before the first search. @throws CallFailed where its vectors do not match the stored ones */
  start(): Promise<void>
  /** Stops the work under way, which the next start continues. */
  stop(): Promise<void>
}

type EmbeddingOptions = {
  /** Makes an embedder that was chosen earlier, or null if this process cannot. Called once for each. */
  find(known: { name: string; dimension: number }): Promise<Embedder | null>
  /** null where the database has none. */
  indexes: VectorIndexes | null
  /** Milliseconds between looks for what other processes left or changed. */
  sweepMs?: number
}

type EmbeddingPlatform = Pick<Platform, 'db' | 'vectors' | 'embedder' | 'log'>

const SWEEP_MS = 10_000

/** The chosen embedder and earlier ones, each made at most once. */
function createMakers(chosen: Embedder, find: EmbeddingOptions['find']) {
  /** null for an embedder that this process cannot make. */
  const made = new Map<string, Embedder | null>()
  return {
    async of({ name, dimension }: EmbedderRow): Promise<Embedder | null> {
      if (name === chosen.name) return chosen
      if (!made.has(name)) made.set(name, await find({ name, dimension }))
      return made.get(name)!
    },
    async close(name: string): Promise<void> {
      await made.get(name)?.close()
      made.delete(name)
    },
    async closeAll(): Promise<void> {
      for (const embedder of made.values()) await embedder?.close()
    },
  }
}

/** The first of the rows, newest first, that has read every conversation and can be made here; with its index. */
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

export function createEmbedding(platform: EmbeddingPlatform, options: EmbeddingOptions): Embedding {
  const { db, embedder: chosen, log } = platform
  const { indexes, sweepMs = SWEEP_MS } = options
  const makers = createMakers(chosen, options.find)
  const workers = createEmbeddingWorkers(platform, (embedder) => {
    if (embedder === chosen && !isFilled && !signal.aborted) fill().catch(complain)
  })
  const pace = createPace(log, () => readReading(db, chosen.name))
  const stopping = new AbortController()
  const { signal } = stopping
  let serving = chosen
  let isFilled = false
  let stopSweeping = async () => {}
  /** Takes long, so sweeps do not wait for it. */
  let upkeep: Promise<void> | null = null

  const complain = (err: unknown) => {
    if (!signal.aborted) log.warn({ err }, 'could not look after the embedders; retrying')
  }

  /** Decides anew which embedder serves, and which ones are at work. */
  async function refresh(): Promise<EmbedderRow[]> {
    const rows = await readEmbedders(db)
    const own = rows.findIndex(({ name }) => name === chosen.name)
    isFilled = rows[own]?.filledAt != null
    const complete = await newestComplete(rows, makers.of)
    if (signal.aborted) return []
    const next = complete?.embedder ?? chosen
    if (next.name !== serving.name) {
      serving = next
      log.info({ embedder: serving.name }, 'searches now use the vectors of another embedder')
    }
    const atWork = new Set<Embedder>()
    if (complete) atWork.add(complete.embedder)
    // A chosen embedder is superseded once one that was chosen after it is complete.
    if (own >= 0 && (!complete || own <= complete.at)) atWork.add(chosen)
    await workers.keep(atWork)
    return rows
  }

  /** Checks whether the chosen embedder has read every conversation. */
  async function fill(): Promise<void> {
    if (!(await markFilled(db, chosen.name))) return
    log.info({ embedder: chosen.name }, 'the embedder has read every conversation')
    await refresh()
  }

  async function sweep(): Promise<void> {
    workers.sweep()
    if (!isFilled) await fill()
    const rows = await refresh()
    await pace.tell(chosen.name, 4 * chosen.batch)
    upkeep ??= keepVectors({ db, log, indexes }, rows, serving.name, makers.close, signal)
      .catch(complain)
      .finally(() => {
        upkeep = null
      })
  }

  async function register(): Promise<void> {
    const { name, dimension } = chosen
    const known = await registerEmbedder(db, name, dimension)
    if (known === dimension) return
    throw new CallFailed(
      `The database has vectors of ${name} with ${known} components, and it now makes ${dimension}. `
        + `Set EMBEDDING_DIMENSIONS to ${known}, or choose another model.`,
      false,
    )
  }

  return {
    searched: () => serving,
    nudge: workers.nudge,
    progress: async () => ({ ...(await pace.now()), embedder: chosen.name, serving: serving.name }),
    async start() {
      await register()
      // In a database without turns, the chosen embedder is complete at once.
      await markFilled(db, chosen.name)
      await refresh()
      stopSweeping = startPeriodic(sweepMs, () => sweep().catch(complain))
    },
    async stop() {
      stopping.abort(new Error('embedding stops'))
      await stopSweeping()
      await workers.stop()
      await upkeep
      await makers.closeAll()
    },
  }
}
