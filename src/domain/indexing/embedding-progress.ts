// How fast turns get their vectors, by all processes together: told from how far the cursors are from time to time.

import type { ReadingProgress } from '../../store/sql/indexing/embedders.ts'
import type { Log } from '../platform.ts'

type Pace = {
  /** Entries of all conversations' journals that were read, and are to be read. */
  done: number
  remaining: number
  /** Entries read a second, of late; 0 when all is read, or when nothing was read. */
  perSecond: number
  /** Seconds to go at that rate; 0 when all is read, null when nobody can tell. */
  etaSeconds: number | null
}

export type EmbeddingProgress = Pace & {
  /** The embedder that was chosen. */
  embedder: string
  /** The one whose vectors searches use. */
  serving: string
}

type Sample = { at: number; done: number }

/** The rate is that of so many milliseconds, as far as somebody looked. */
const WINDOW_MS = 30_000
/** Asked more often, it answers what it answered last. */
const FRESH_MS = 1_000

export function createPace(log: Log, read: () => Promise<ReadingProgress>, clock: () => number = Date.now) {
  let samples: Sample[] = []
  let last: Promise<Pace> | null = null
  let lastAt = -Infinity

  async function measure(): Promise<Pace> {
    const { done, remaining } = await read()
    const at = clock()
    samples = [...samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, done }]
    return paceOf(samples, remaining)
  }

  function now(): Promise<Pace> {
    if (last && clock() - lastAt < FRESH_MS) return last
    lastAt = clock()
    const asked = measure()
    asked.catch(() => {
      last = null
    })
    last = asked
    return asked
  }

  return {
    now,
    /** Says it in the log, while more than `few` entries are to be read. */
    async tell(embedder: string, few: number): Promise<void> {
      const pace = await now()
      if (pace.remaining > few) log.info({ embedder, ...pace }, 'turns are being embedded')
    },
  }
}

/** Of samples in the order of time, the last one being of now. */
export function paceOf(samples: readonly Sample[], remaining: number): Pace {
  const [first, last] = [samples[0]!, samples.at(-1)!]
  const seconds = (last.at - first.at) / 1000
  // Conversations that are deleted take what was done with them.
  const rate = remaining > 0 && seconds > 0 ? Math.max(0, (last.done - first.done) / seconds) : 0
  return {
    done: last.done,
    remaining,
    perSecond: Math.round(rate * 10) / 10,
    etaSeconds: remaining === 0 ? 0 : rate > 0 ? Math.ceil(remaining / rate) : null,
  }
}
