// Gives facts their vectors, after they were written and never in the way of it: of the object, by which facts are
// compared, and of the whole sentence, by which they are found. What is to be done is found by query, and doing it
// twice changes nothing, so any number of processes may do it. A text that cannot be embedded holds up nobody.

import { CallFailed } from '../../providers/ports/call-failed.ts'
import { type Embedder } from '../../providers/ports/embedder.ts'
import {
  findUnembeddedFacts,
  readObjectVectors,
  readUnembeddedFacts,
  writeFactVectors,
  type EmbeddableFact,
} from '../../store/sql/fact/fact-vectors.ts'
import type { Platform } from '../platform.ts'
import { embedTexts } from '../indexing/embed-texts.ts'
import type { Embedding } from '../indexing/embedding.ts'
import { sentenceOf } from './write.ts'

export type FactEmbedding = {
  /** Facts may have been written. */
  nudge(): void
  start(): void
  /** Ends what runs; nothing is lost by it. */
  stop(): Promise<void>
}

type EmbeddingPlatform = Pick<Platform, 'pool' | 'log'> & { embedding: Pick<Embedding, 'searched'> }

/** Milliseconds in which nudges are gathered. */
const GATHER_MS = 100
/** How often is looked for what others wrote. */
const SWEEP_MS = 10_000
const BACKOFF_MS = { least: 1_000, most: 60_000 }
/** After a batch, others have the processor for as long as it took, but not longer than this. */
const PAUSE_MS = 50
/** How long `embedFacts` may take over a batch, ms. */
const PATIENCE_MS = 10_000

/**
 * Embeds what is wanting among the facts, and notes of all that the embedder has read them: how many are noted, and the
 * vectors of objects that were made, be they noted or not.
 */
async function embedBatch(
  { pool, log }: EmbeddingPlatform,
  embedder: Embedder,
  facts: readonly EmbeddableFact[],
  signal: AbortSignal,
): Promise<{ noted: number; objects: [fact: string, vector: Float32Array][] }> {
  const wanting = facts.filter(({ isWanting }) => isWanting)
  const texts = wanting.flatMap((fact) => [fact.object, sentenceOf(fact)])
  const made = await embedTexts(embedder, texts, signal, (place, error) =>
    log.warn(
      { embedder: embedder.name, fact: wanting[place >> 1]!.id, cause: error.message },
      'a fact cannot be embedded',
    ),
  )
  const none = new Float32Array(embedder.dimension)
  const vectors = wanting.flatMap(({ id }, place) => {
    const [object, sentence] = [made[2 * place], made[2 * place + 1]]
    return object || sentence ? [{ id, object: object ?? none, sentence: sentence ?? none }] : []
  })
  const noted = await writeFactVectors(
    pool,
    embedder.name,
    facts.map(({ id }) => id),
    vectors,
  )
  return { noted, objects: vectors.map(({ id, object }) => [id, object]) }
}

/** Looks after all facts of all tenants, with the embedder that searches use at the time. */
export function createFactEmbedding(platform: EmbeddingPlatform, { sweepMs = SWEEP_MS } = {}): FactEmbedding {
  const { pool, log, embedding } = platform
  const stopping = new AbortController()
  let running: Promise<void> | null = null
  let isNudged = false
  let failures = 0
  let wake = () => {}

  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      if (stopping.signal.aborted) return resolve()
      const timer = setTimeout(resolve, ms)
      timer.unref()
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  /** However often it is woken. */
  async function pause(ms: number): Promise<void> {
    const until = performance.now() + ms
    while (performance.now() < until && !stopping.signal.aborted) await sleep(until - performance.now())
  }

  /** One batch; whether there may be more. Where nothing could be noted, others are at it: the sweep comes by again. */
  async function step(): Promise<boolean> {
    const embedder = embedding.searched()
    const facts = await findUnembeddedFacts(pool, embedder.name, embedder.batch)
    if (facts.length === 0) return false
    const { noted } = await embedBatch(platform, embedder, facts, stopping.signal)
    return noted > 0 && facts.length >= embedder.batch
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        isNudged = false
        for (let isMore = true; isMore && !stopping.signal.aborted;) {
          const began = performance.now()
          isMore = await step()
          if (failures > 0) log.info({}, 'embedding of facts goes on')
          failures = 0
          if (isMore) await pause(Math.min(performance.now() - began, PAUSE_MS))
        }
        if (!isNudged) await sleep(sweepMs)
        await pause(GATHER_MS)
      } catch (error) {
        if (stopping.signal.aborted) return
        if (failures++ === 0) log.warn({ err: error }, 'embedding of facts fails: it is tried again and again')
        const most = Math.min(BACKOFF_MS.least * 2 ** (failures - 1), BACKOFF_MS.most)
        await pause(most * (0.5 + Math.random() / 2))
      }
    }
  }

  return {
    nudge() {
      isNudged = true
      wake()
    },
    start() {
      running ??= run()
    },
    async stop() {
      stopping.abort(new Error('embedding of facts stops'))
      wake()
      await running
    },
  }
}

/**
 * Makes sure that those facts have vectors now, as far as that can be had: the vectors of their objects by id, zeros
 * where the object alone has no direction. A fact has no key where it is gone, superseded or says nothing, or where the
 * embedder cannot be reached. Not inside a transaction: it asks the pool.
 */
export async function embedFacts(
  platform: EmbeddingPlatform,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { pool, log } = platform
  const embedder = platform.embedding.searched()
  const unread = await readUnembeddedFacts(pool, embedder.name, ids)
  // What somebody else writes at this moment is not written here, but it is known.
  const made: [string, Float32Array][] = []
  try {
    for (let from = 0; from < unread.length; from += embedder.batch) {
      const batch = unread.slice(from, from + embedder.batch)
      made.push(...(await embedBatch(platform, embedder, batch, AbortSignal.timeout(PATIENCE_MS))).objects)
    }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    log.warn({ err, embedder: embedder.name }, 'facts could not be embedded: they are compared by their words')
  }
  return new Map([...made, ...(await readObjectVectors(pool, embedder.name, ids))])
}
