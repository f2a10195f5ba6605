// Embeds facts in the background after they are written: the object, used to compare facts, and the sentence, used by
// recall. Facts to embed are found by query and embedding is idempotent, so any number of processes may run it. A text
// that fails to embed does not delay the others.

import { CallFailed } from '../../providers/ports/call-failed.ts'
import type { Scope } from '../../store/scope.ts'
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
import { startLoop, type Loop } from '../job/loop.ts'
import { sentenceOf } from './write.ts'

export type FactEmbedding = {
  /** Schedules a batch. Call it after facts may have been written. */
  nudge(): void
  start(): void
  /** Aborts the running batch; its facts are embedded after the next start. */
  stop(): Promise<void>
}

type EmbeddingPlatform = Pick<Platform, 'db' | 'log'> & { embedding: Pick<Embedding, 'serving'> }

/** Milliseconds for which nudges are collected before the next batch. */
const GATHER_MS = 100
/** Milliseconds between sweeps for facts that other processes wrote. */
const SWEEP_MS = 10_000
/** Timeout of one batch in `embedFacts`, in milliseconds. */
const BATCH_TIMEOUT_MS = 10_000

/**
 * Embeds the facts that need vectors, and marks all given facts as processed by the embedder. Returns the number of
 * marked facts, and the object vectors of all facts embedded here, marked or not. A vector is all zeros if its text
 * could not be embedded.
 */
async function embedBatch(
  { db, log }: EmbeddingPlatform,
  embedder: Embedder,
  facts: readonly EmbeddableFact[],
  signal: AbortSignal,
): Promise<{ marked: number; objects: [fact: string, vector: Float32Array][] }> {
  const pending = facts.filter(({ needsVectors }) => needsVectors)
  const texts = pending.flatMap((fact) => [fact.object, sentenceOf(fact)])
  const embedded = await embedTexts(embedder, texts, signal, (index, error) =>
    log.warn(
      { embedder: embedder.name, fact: pending[index >> 1]!.id, cause: error.message },
      'could not embed a fact',
    ),
  )
  const zeros = new Float32Array(embedder.dimension)
  const vectors = pending.flatMap(({ id }, i) => {
    const [object, sentence] = [embedded[2 * i], embedded[2 * i + 1]]
    return object || sentence ? [{ id, object: object ?? zeros, sentence: sentence ?? zeros }] : []
  })
  const marked = await writeFactVectors(
    db,
    embedder.name,
    facts.map(({ id }) => id),
    vectors,
  )
  return { marked, objects: vectors.map(({ id, object }) => [id, object]) }
}

/** Embeds the facts of all tenants with the embedder that searches currently use. Does nothing before `start`. */
export function createFactEmbedding(platform: EmbeddingPlatform, { sweepMs = SWEEP_MS } = {}): FactEmbedding {
  const { db, embedding } = platform
  let loop: Loop | null = null

  /**
   * Embeds one batch; returns true if more facts may be waiting. If no fact was marked, another process embedded the
   * batch, and the next sweep finds the remaining facts.
   */
  async function step(signal: AbortSignal): Promise<boolean> {
    const embedder = embedding.serving()
    const facts = await findUnembeddedFacts(db, embedder.name, embedder.batch)
    if (facts.length === 0) return false
    const { marked } = await embedBatch(platform, embedder, facts, signal)
    return marked > 0 && facts.length >= embedder.batch
  }

  return {
    nudge: () => loop?.nudge(),
    start() {
      loop ??= startLoop(platform, {
        step,
        gatherMs: GATHER_MS,
        sweepMs,
        messages: { failing: 'could not embed facts; retrying', recovered: 'embedding facts succeeds again' },
        details: {},
      })
    },
    stop: async () => loop?.stop(),
  }
}

/**
 * Embeds the given facts in scope that have no vectors yet. Returns object vectors by fact id; a vector is all
 * zeros if the sentence could be embedded but not the object. A fact has no key if it is deleted or superseded, has no
 * words, or if the embedder failed or timed out. Do not call it inside a transaction: it uses a connection of its own.
 */
export async function embedFacts(
  platform: EmbeddingPlatform,
  scope: Scope,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { db, log } = platform
  const embedder = platform.embedding.serving()
  const unembedded = await readUnembeddedFacts(db, scope, embedder.name, ids)
  // Includes vectors that were not written here because another process wrote them first.
  const embedded: [string, Float32Array][] = []
  try {
    for (let from = 0; from < unembedded.length; from += embedder.batch) {
      const batch = unembedded.slice(from, from + embedder.batch)
      embedded.push(...(await embedBatch(platform, embedder, batch, AbortSignal.timeout(BATCH_TIMEOUT_MS))).objects)
    }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    log.warn({ err, embedder: embedder.name }, 'could not embed facts; comparing them by their words only')
  }
  return new Map([...embedded, ...(await readObjectVectors(db, scope, embedder.name, ids))])
}
