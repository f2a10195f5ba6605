// Marks facts as recalled the first time a recall or a context returns them. Ids are collected in memory and written
// shortly after, off the request path. A mark lost in a crash is written at the fact's next recall.

import { markRecalled } from '../../store/sql/fact/mark-recalled.ts'
import type { Platform } from '../platform.ts'

export type RecalledFacts = {
  /** Collects the ids of the facts that a recall or a context returned. */
  add(ids: Iterable<string>): void
  /** Waits for a running write, then writes the collected ids. */
  stop(): Promise<void>
}

/** Milliseconds for which ids are collected before a write. */
const GATHER_MS = 500
/** Maximum number of ids waiting to be written; more are dropped, and marked at their next recall. */
const MAX_WAITING = 10_000

export function createRecalledFacts({ db, log }: Pick<Platform, 'db' | 'log'>): RecalledFacts {
  const waiting = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    const ids = [...waiting]
    waiting.clear()
    if (ids.length === 0) return
    await markRecalled(db, ids).catch((err: unknown) =>
      log.error({ err, facts: ids.length }, 'could not mark facts as recalled'),
    )
  }

  return {
    add(ids) {
      for (const id of ids) if (waiting.size < MAX_WAITING) waiting.add(id)
      if (waiting.size === 0 || timer) return
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
