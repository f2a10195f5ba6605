// Compaction without being asked. Rooms that grow are looked at a moment later, and all rooms once a minute, in case
// that moment was lost; those that are due become jobs. Whoever takes a job compares counters again, so it does no harm
// that a room is looked at twice.

import { ProviderFailed } from '../../errors.ts'
import { readDue, readDueAmong } from '../../store/sql/read-compaction.ts'
import type { Deps } from '../deps.ts'
import { compactDue } from './compact.ts'

const JOB = 'compact'
/** Rooms that a process compacts at once. */
const LANES = 2
/** How long a room's growth waits for that of others, to be looked at together. */
const SOON_MS = 250
const SWEEP_MS = 60_000
/** Rooms looked at in one statement. */
const ROOMS = 500
/** After so long a job makes way for other rooms' and queues up again. */
const SHARE_MS = 60_000

/** Starts it; the result stops it, once what runs has ended. */
export async function startCompacting(deps: Deps): Promise<() => Promise<void>> {
  const { pool, jobs, log, growths } = deps
  const grown = new Set<string>()
  const busy = new Set<string>()
  const running = new Set<Promise<void>>()
  let soon: NodeJS.Timeout | null = null
  let stopped = false

  async function compactRoom(room: string, signal: AbortSignal): Promise<void> {
    // What it would do, the one that runs will do.
    if (busy.has(room)) return
    busy.add(room)
    try {
      const until = performance.now() + SHARE_MS
      const count = await compactDue(deps, room, { stop: signal, enough: () => performance.now() > until })
      if (count > 0) {
        log.info({ room, count }, 'compacted')
        grown.add(room)
        lookSoon()
      }
    } catch (error) {
      // Said in the log already; the sweep comes by again.
      if (!(error instanceof ProviderFailed)) throw error
    } finally {
      busy.delete(room)
    }
  }

  function track(work: Promise<void>, what: string): void {
    const done = work
      .catch((err) => { if (!stopped) log.warn({ err }, `could not ${what}`) })
      .finally(() => running.delete(done))
    running.add(done)
  }

  async function look(): Promise<void> {
    const rooms = [...grown]
    grown.clear()
    for (let from = 0; from < rooms.length; from += ROOMS) {
      for (const room of await readDueAmong(pool, rooms.slice(from, from + ROOMS))) await jobs.send(JOB, room)
    }
  }

  function lookSoon(): void {
    if (stopped) return
    soon ??= setTimeout(() => {
      soon = null
      track(look(), 'look for rooms to compact')
    }, SOON_MS)
  }

  async function sweep(): Promise<void> {
    let after = ''
    for (;;) {
      const rooms = await readDue(pool, after, ROOMS)
      for (const room of rooms) await jobs.send(JOB, room)
      if (rooms.length < ROOMS || stopped) return
      after = rooms.at(-1)!
    }
  }

  await jobs.work(JOB, LANES, compactRoom)
  const unlisten = growths.listen((room) => {
    grown.add(room)
    lookSoon()
  })
  track(sweep(), 'look for rooms to compact')
  const sweeping = setInterval(() => track(sweep(), 'look for rooms to compact'), SWEEP_MS)
  sweeping.unref()
  return async () => {
    stopped = true
    unlisten()
    clearInterval(sweeping)
    if (soon) clearTimeout(soon)
    await Promise.all(running)
  }
}
