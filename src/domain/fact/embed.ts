// Embeds facts in the background, after they are written: the object, by which facts are compared, and the whole
// sentence, by which they are found. The facts to embed are found by query and embedding one twice changes nothing, so
// any number of processes may do it. A text that cannot be embedded does not delay the others.

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
import { startLoop, type Loop } from '../job/loop.ts'
import { sentenceOf } from './write.ts'

export type FactEmbedding = {
  /** Facts may have been written. */
  nudge(): void
  start(): void
  /** Aborts the batch that runs, which is then done after the next start. */
  stop(): Promise<void>
}

type EmbeddingPlatform = Pick<Platform, 'db' | 'log'> & { embedding: Pick<Embedding, 'searched'> }

/** Milliseconds for which nudges are collected before the next look. */
const GATHER_MS = 100
/** Milliseconds between looks for facts that other processes wrote. */
const SWEEP_MS = 10_000
/** Milliseconds that `embedFacts` may take over a batch. */
const PATIENCE_MS = 10_000

/**
 * Embeds those of the facts that want it, and notes for all of them that the embedder has read them. Returns how many
 * were noted, and the vectors of the objects, noted or not.
 */
async function embedBatch(
  { db, log }: EmbeddingPlatform,
  embedder: Embedder,
  facts: readonly EmbeddableFact[],
  signal: AbortSignal,
): Promise<{ noted: number; objects: [fact: string, vector: Float32Array][] }> {
  const wanting = facts.filter(({ needsVectors }) => needsVectors)
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
    db,
    embedder.name,
    facts.map(({ id }) => id),
    vectors,
  )
  return { noted, objects: vectors.map(({ id, object }) => [id, object]) }
}

/** Embeds the facts of all tenants, with the embedder that searches use at the time. Starts when told to. */
export function createFactEmbedding(platform: EmbeddingPlatform, { sweepMs = SWEEP_MS } = {}): FactEmbedding {
  const { db, embedding } = platform
  let loop: Loop | null = null

  /** One batch. Where no fact was noted, another process has embedded them; the next sweep looks for the rest. */
  async function step(signal: AbortSignal): Promise<boolean> {
    const embedder = embedding.searched()
    const facts = await findUnembeddedFacts(db, embedder.name, embedder.batch)
    if (facts.length === 0) return false
    const { noted } = await embedBatch(platform, embedder, facts, signal)
    return noted > 0 && facts.length >= embedder.batch
  }

  return {
    nudge: () => loop?.nudge(),
    start() {
      loop ??= startLoop(platform, {
        step,
        gatherMs: GATHER_MS,
        sweepMs,
        messages: { failing: 'embedding facts fails; retrying', recovered: 'embedding facts succeeds again' },
        details: {},
      })
    },
    stop: async () => loop?.stop(),
  }
}

/**
 * Embeds those facts now, where they have no vectors yet. The vectors of their objects by id; zeros where the object
 * alone has no direction. A fact has no key if it is deleted, superseded or without words, or if the embedder cannot be
 * reached. Must not be called inside a transaction: it uses the db.
 */
export async function embedFacts(
  platform: EmbeddingPlatform,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { db, log } = platform
  const embedder = platform.embedding.searched()
  const unread = await readUnembeddedFacts(db, embedder.name, ids)
  // A vector that another process writes at this moment is not written here, but it is known.
  const made: [string, Float32Array][] = []
  try {
    for (let from = 0; from < unread.length; from += embedder.batch) {
      const batch = unread.slice(from, from + embedder.batch)
      made.push(...(await embedBatch(platform, embedder, batch, AbortSignal.timeout(PATIENCE_MS))).objects)
    }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    log.warn({ err, embedder: embedder.name }, 'facts could not be embedded; comparing them by their words')
  }
  return new Map([...made, ...(await readObjectVectors(db, embedder.name, ids))])
}
