// Notes which facts were found again for the first time. Off the way of whoever finds them: gathered in memory, and
// written a moment later. What a crash loses of it is noted when the fact is found the next time.

import { markRecalled } from '../../store/sql/fact/mark-recalled.ts'
import type { Platform } from '../platform.ts'

export type RecalledFacts = {
  /** These were found, or handed to a model. */
  note(ids: Iterable<string>): void
  /** Writes what is gathered. */
  stop(): Promise<void>
}

/** How long what is found waits for more, in ms. */
const GATHER_MS = 500
/** Facts that are held while they cannot be written; those beyond wait for the next time. */
const HELD = 10_000

export function createRecalledFacts({ db, log }: Pick<Platform, 'db' | 'log'>): RecalledFacts {
  const noted = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    const ids = [...noted]
    noted.clear()
    if (ids.length === 0) return
    await markRecalled(db, ids).catch((err: unknown) =>
      log.error({ err, facts: ids.length }, 'could not note that facts were recalled'),
    )
  }

  return {
    note(ids) {
      for (const id of ids) if (noted.size < HELD) noted.add(id)
      if (noted.size === 0 || timer) return
      timer = setTimeout(() => {
        timer = null
        writing = writing.then(write)
      }, GATHER_MS)
      timer.unref()
    },
    async stop() {
      if (timer) clearTimeout(timer)
      await (writing = writing.then(write))
    },
  }
}
