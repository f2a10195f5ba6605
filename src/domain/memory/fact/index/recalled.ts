// Counts the days on which recalls or contexts return facts. Collects ids in memory and writes them within GATHER_MS, so
// that requests do not wait for the write. If a crash loses ids, the next recall of the facts writes them.

import { markRecalled } from '../../../../store/sql/memory/fact/mark-recalled.ts'
import type { Platform } from '../../../kernel/platform.ts'

export type RecalledFacts = {
  /** Collects the ids of the facts that a recall or a context returned. */
  add(ids: Iterable<string>): void
  /** Waits for a running write, then writes the collected ids. */
  stop(): Promise<void>
}

/** Milliseconds between the first collected id and the write. */
const GATHER_MS = 500
/** Maximum number of ids that wait to be written. Further ids are dropped until the next recall of their facts. */
const MAX_WAITING = 10_000

export function createRecalledFacts({ clock, db, log }: Pick<Platform, 'clock' | 'db' | 'log'>): RecalledFacts {
  const waiting = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  let isStopped = false

  async function write(): Promise<void> {
    const ids = [...waiting]
    waiting.clear()
    if (ids.length === 0) return
    try {
      // Facts that another transaction has locked, for example while it stores their vectors, are marked later.
      add(await markRecalled(db, ids))
    } catch (err) {
      log.error({ err, facts: ids.length }, 'could not mark facts as recalled')
    }
  }

  function add(ids: Iterable<string>): void {
    for (const id of ids) if (waiting.size < MAX_WAITING) waiting.add(id)
    if (waiting.size === 0 || timer || isStopped) return
    timer = clock.setTimeout(() => {
      timer = null
      writing = writing.then(write)
    }, GATHER_MS)
    timer.unref()
  }

  return {
    add,
    async stop() {
      isStopped = true
      if (timer) clock.clearTimeout(timer)
      await (writing = writing.then(write))
    },
  }
}
