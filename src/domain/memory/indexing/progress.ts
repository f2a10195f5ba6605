// Measures how far the embedding of all journals has progressed, over all processes. Estimates the rate from samples of
// the number of entries that the embedder has processed.

import type { Clock } from '../../../runtime/clock.ts'
import type { EmbedderProgress } from '../../../store/sql/memory/indexing/embedders.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import type { Log } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

type Pace = {
  /** Number of entries of all journals that the embedder has processed. */
  done: number
  /** Number of entries of all journals that the embedder has not processed. */
  remaining: number
  /** Entries processed per second over `WINDOW_MS`, to one decimal; 0 when none remain or none were processed. */
  perSecond: number
  /** Seconds until none remain at the rate of `perSecond`; 0 when none remain, null when the rate is 0. */
  etaSeconds: number | null
}

export type EmbeddingProgress = Pace & {
  /** Name of the configured embedder. */
  embedder: string
  /** Name of the embedder that searches use. */
  serving: string
}

type ProgressDeps = { embedding: { progress(): Promise<EmbeddingProgress> } }

/** Returns the progress of the configured embedder over all conversations of the server. @throws NotAllowed */
export async function getEmbeddingProgress({ embedding }: ProgressDeps, viewer: Viewer): Promise<EmbeddingProgress> {
  authorize(viewer, 'getEmbeddingProgress')
  return embedding.progress()
}

/** The number of entries processed up to the time `at`, which is in milliseconds. */
type Sample = { at: number; done: number }

/** Maximum age of the samples from which the rate is computed, in milliseconds. */
export const WINDOW_MS = 30_000
/** Milliseconds for which a measurement is reused. */
const FRESH_MS = 1_000

/**
 * Creates the measurement of an embedder's progress.
 * @param read reads the current `done` and `remaining` from the database
 */
export function createPace(clock: Pick<Clock, 'Date'>, log: Log, read: () => Promise<EmbedderProgress>) {
  let samples: Sample[] = []
  let last: Promise<Pace> | null = null
  let lastAt = -Infinity

  async function measure(): Promise<Pace> {
    const { done, remaining } = await read()
    const at = clock.Date.now()
    samples = [...samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, done }]
    return paceOf(samples, remaining)
  }

  /** Returns the progress, measured at most FRESH_MS ago. */
  function now(): Promise<Pace> {
    if (last && clock.Date.now() - lastAt < FRESH_MS) return last
    lastAt = clock.Date.now()
    const measured = measure()
    measured.catch(() => {
      last = null
    })
    last = measured
    return measured
  }

  return {
    now,
    /** Logs the progress while more than `threshold` entries remain. */
    async report(embedder: string, threshold: number): Promise<void> {
      const pace = await now()
      if (pace.remaining > threshold) log.info({ embedder, ...pace }, 'turns are being embedded')
    },
  }
}

/**
 * Computes the progress and its rate from samples in ascending order of time. The last sample is the current one.
 * @internal Exported for tests.
 */
export function paceOf(samples: readonly Sample[], remaining: number): Pace {
  const [first, last] = [samples[0]!, samples.at(-1)!]
  const seconds = (last.at - first.at) / 1000
  // Deleting a conversation decreases `done`, so the difference may be negative.
  const rate = remaining > 0 && seconds > 0 ? Math.max(0, (last.done - first.done) / seconds) : 0
  return {
    done: last.done,
    remaining,
    perSecond: Math.round(rate * 10) / 10,
    etaSeconds: remaining === 0 ? 0 : rate > 0 ? Math.ceil(remaining / rate) : null,
  }
}
