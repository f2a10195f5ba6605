// Indexes stored facts in the background: embeds new ones, and computes the terms of facts that an earlier version of the
// server wrote. Each fact has two vectors: one of its object, with which facts are compared, and one of its sentence, which
// recall searches. A database query finds the facts to index, and indexing is idempotent, so any number of processes may
// run it. A text that fails to embed does not delay the others.

import { CallFailed } from '../../../../providers/ports/call-failed.ts'
import type { Scope } from '../../../../store/db/scope.ts'
import { type Embedder } from '../../../../providers/ports/embedder.ts'
import {
  findUnembeddedFacts,
  readObjectVectors,
  readUnembeddedFacts,
  writeFactVectors,
  type EmbeddableFact,
} from '../../../../store/sql/memory/fact/fact-vectors.ts'
import { readUnindexedFacts, writeFactTerms } from '../../../../store/sql/memory/fact/fact-terms.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { backfill } from '../../indexing/backfill.ts'
import { embedTexts } from '../../indexing/batch.ts'
import type { Embedding } from '../../indexing/embedder-in-use.ts'
import { startLoop, type Loop } from '../../../background/job/loop.ts'
import { factTerms, sentenceOf } from '../write.ts'

export type FactEmbedding = {
  /** Schedules a batch. Call it after a transaction that may have written facts. */
  nudge(): void
  start(): void
  /** Aborts the running batch. Another process, or this one after a restart, embeds its facts. */
  stop(): Promise<void>
}

type EmbeddingPlatform = Pick<Platform, 'db' | 'log'> & { embedding: Pick<Embedding, 'serving'> }

/** Milliseconds between a nudge and the batch that it schedules. The batch also serves the nudges in between. */
const GATHER_MS = 100
/** Milliseconds without a nudge until the next batch, which embeds facts that other processes wrote. */
const SWEEP_MS = 10_000
/** Timeout of one batch in `embedFacts`, in milliseconds. */
const BATCH_TIMEOUT_MS = 10_000

/**
 * Embeds the given facts that need vectors, and marks all given facts as processed by the embedder, except facts that
 * another transaction has locked. Returns the number of marked facts, and the object vectors of the facts that it
 * embedded, marked or not. If only one of a fact's two texts could be embedded, the other vector is all zeros.
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
export function createFactEmbedding(
  platform: EmbeddingPlatform & Pick<Platform, 'clock'>,
  { sweepMs = SWEEP_MS } = {},
): FactEmbedding {
  const { db, embedding } = platform
  let loop: Loop | null = null

  /**
   * Embeds one batch; returns true if more facts may be waiting. Returns false if no fact was marked, because another
   * process is embedding the same batch. The next sweep then finds the remaining facts.
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
 * Embeds those of the given facts in scope that have no vectors yet. Returns the object vectors of the facts, by id. A
 * vector is all zeros if only the fact's sentence could be embedded. The map excludes facts without vectors: deleted
 * facts, superseded facts, and facts that the embedder could not embed. Do not call it inside a transaction, because it
 * uses a connection of its own.
 */
export async function embedFacts(
  platform: EmbeddingPlatform,
  scope: Scope,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { db, log } = platform
  const embedder = platform.embedding.serving()
  const unembedded = await readUnembeddedFacts(db, scope, embedder.name, ids)
  // Includes vectors that this process could not store, because another transaction has locked the fact.
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

/**
 * Computes the terms of the facts of all tenants that have none, and returns their number. New facts get theirs when they
 * are written (write.ts).
 */
export const indexFacts = ({ db }: Pick<Platform, 'db'>): Promise<number> =>
  backfill({
    read: (limit) => readUnindexedFacts(db, limit),
    entryOf: ({ id, tenant, ...statement }) => ({ id, terms: factTerms(tenant, statement) }),
    write: (facts) => writeFactTerms(db, facts),
  })
