// Which embedders are at work, and which one serves searches. One that is newly chosen reads every conversation first; until it
// has, searches use the newest that has, and turns are embedded by both. Then the index of the new one is made, and
// what the old ones made is deleted. The tables say how far all that is, so any process goes on where another ended.

import { CallFailed } from '../../providers/ports/call-failed.ts'
import { type Embedder } from '../../providers/ports/embedder.ts'
import {
  deleteEmbedder,
  deleteVectors,
  giveUpEmbedder,
  markFilled,
  readEmbedders,
  readReading,
  registerEmbedder,
  type EmbedderRow,
} from '../../store/sql/indexing/embedders.ts'
import type { VectorIndexes } from '../../store/vector-index.ts'
import type { Platform } from '../platform.ts'
import { startEmbeddingWorker, type EmbeddingWorker } from './embed.ts'
import { createPace, type EmbeddingProgress } from './embedding-progress.ts'

export type Embedding = {
  /**
   * The embedder whose vectors searches use now: with it the query is to be embedded, by its name vectors are found.
   */
  searched(): Embedder
  /** These conversations have grown: their turns have vectors soon. */
  nudge(conversationIds: Iterable<string>): void
  /** How far the chosen embedder is. */
  progress(): Promise<EmbeddingProgress>
  /** Once, before anything is searched. @throws CallFailed where its vectors would not go with those there are */
  start(): Promise<void>
  /** Ends what runs; nothing is lost by it. */
  stop(): Promise<void>
}

type EmbeddingOptions = {
  /** Makes an embedder of before, if this process can. It is asked once for each. */
  find(known: { name: string; dimension: number }): Promise<Embedder | null>
  /** null where there are none. */
  indexes: VectorIndexes | null
  /** How often is looked for what others left or changed, in ms. */
  sweepMs?: number
}

type EmbeddingPlatform = Pick<Platform, 'pool' | 'vectors' | 'embedder' | 'log'>

const SWEEP_MS = 10_000
/** Turns from which on an index is worth making: below, searches would not use it. */
const INDEXED_TURNS = 10_000
/** Conversations whose vectors one statement deletes. */
const DELETED_CONVERSATIONS = 50

export function createEmbedding(platform: EmbeddingPlatform, options: EmbeddingOptions): Embedding {
  const { pool, embedder: chosen, log } = platform
  const { indexes, sweepMs = SWEEP_MS } = options
  /** Embedders of before that this process can make, or null for those that it cannot. */
  const found = new Map<string, Embedder | null>()
  const workers = new Map<string, EmbeddingWorker>()
  const stopping = new AbortController()
  const pace = createPace(log, () => readReading(pool, chosen.name))
  let serving = chosen
  let isFilled = false
  let timer: NodeJS.Timeout | undefined
  let sweeping = Promise.resolve()
  /** What takes long and is not waited for. */
  let keeping: Promise<void> | null = null

  async function embedderOf({ name, dimension }: EmbedderRow): Promise<Embedder | null> {
    if (name === chosen.name) return chosen
    if (!found.has(name)) found.set(name, await options.find({ name, dimension }))
    return found.get(name)!
  }

  /** Decides anew which embedder serves, and which ones are at work. */
  async function refresh(): Promise<EmbedderRow[]> {
    const rows = await readEmbedders(pool)
    const own = rows.findIndex(({ name }) => name === chosen.name)
    isFilled = rows[own]?.filledAt != null
    let next: Embedder | null = null
    let at = 0
    for (; at < rows.length && !next; at++) if (rows[at]!.filledAt) next = await embedderOf(rows[at]!)
    if (stopping.signal.aborted) return []
    if ((next ?? chosen).name !== serving.name) {
      serving = next ?? chosen
      log.info({ embedder: serving.name }, 'searches use the vectors of another embedder now')
    }
    const atWork = new Set<Embedder>()
    if (next) atWork.add(next)
    // One that was chosen before another that is complete is not needed any more.
    if (own >= 0 && (!next || own < at)) atWork.add(chosen)
    for (const [name, worker] of workers) {
      if ([...atWork].includes(worker.embedder)) continue
      workers.delete(name)
      await worker.stop()
    }
    for (const embedder of atWork) {
      if (workers.has(embedder.name)) continue
      workers.set(
        embedder.name,
        startEmbeddingWorker(platform, embedder, () => {
          if (embedder === chosen && !isFilled && !stopping.signal.aborted) fill().catch(complain)
        }),
      )
    }
    return rows
  }

  /** Checks whether the chosen embedder has read every conversation. */
  async function fill(): Promise<void> {
    if (!(await markFilled(pool, chosen.name))) return
    log.info({ embedder: chosen.name }, 'the embedder has read every conversation')
    await refresh()
  }

  async function sweep(): Promise<void> {
    for (const worker of workers.values()) worker.sweep()
    if (!isFilled) await fill()
    const rows = await refresh()
    await pace.tell(chosen.name, 4 * chosen.batch)
    keeping ??= keepHouse(rows)
      .catch(complain)
      .finally(() => {
        keeping = null
      })
  }

  /** Makes the index of what serves, where it is missing, and deletes what is outdated. */
  async function keepHouse(rows: readonly EmbedderRow[]): Promise<void> {
    const { name, dimension } = serving
    const isComplete = rows.some((row) => row.name === name && row.filledAt)
    if (!isComplete) return
    if (indexes && !(await indexes.read(name))?.valid) {
      const { turns } = await readReading(pool, name)
      if (turns >= INDEXED_TURNS && (await indexes.make({ name, dimension }, turns, stopping.signal))) {
        log.info({ embedder: name, turns }, 'the index of vectors is made')
      }
    }
    for (const row of rows) if (row.isOutdated && row.name !== name) await giveUp(row.name)
  }

  async function giveUp(name: string): Promise<void> {
    if (!(await giveUpEmbedder(pool, name))) return
    await indexes?.drop(name)
    for (let last: string | null = ''; last !== null && !stopping.signal.aborted;) {
      last = await deleteVectors(pool, name, last, DELETED_CONVERSATIONS)
    }
    if (stopping.signal.aborted) return
    await deleteEmbedder(pool, name)
    await found.get(name)?.close()
    found.delete(name)
    log.info({ embedder: name }, 'the vectors of an embedder that is not used any more are deleted')
  }

  const complain = (error: unknown) => {
    if (!stopping.signal.aborted) log.warn({ err: error }, 'could not look after the embedders: it is tried again')
  }

  return {
    searched: () => serving,
    nudge(conversationIds) {
      const list = [...conversationIds]
      for (const worker of workers.values()) worker.nudge(list)
    },
    progress: async () => ({ ...(await pace.now()), embedder: chosen.name, serving: serving.name }),
    async start() {
      const { name, dimension } = chosen
      const known = await registerEmbedder(pool, name, dimension)
      if (known !== dimension) {
        throw new CallFailed(
          `The database has vectors of ${name} with ${known} components, and it now makes ${dimension}. `
            + `Set EMBEDDING_DIMENSIONS to ${known}, or choose another model.`,
          false,
        )
      }
      // A database without turns is read at once: nothing has to be put off for it.
      await markFilled(pool, name)
      await refresh()
      timer = setInterval(() => {
        sweeping = sweeping.then(sweep).catch(complain)
      }, sweepMs)
      timer.unref()
    },
    async stop() {
      stopping.abort(new Error('embedding stops'))
      clearInterval(timer)
      await sweeping
      await Promise.all([...workers.values()].map((worker) => worker.stop()))
      await keeping
      for (const embedder of found.values()) await embedder?.close()
    },
  }
}
