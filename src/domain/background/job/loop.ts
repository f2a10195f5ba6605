// The loop of a background worker: runs steps while there is work, then sleeps until it is nudged. A failed step is
// retried with exponential backoff; only the first failure of a series is logged. Steps must be idempotent.

import { backoffMs } from '../../../runtime/clock.ts'
import type { Platform } from '../../kernel/platform.ts'

export type LoopWork = {
  /**
   * Does one piece of work. Returns false if no work is left. If the loop was nudged during the step, the next step
   * runs nevertheless.
   */
  step(signal: AbortSignal): Promise<boolean>
  /** Called after each step that returned false. */
  idle?(): void
  /** Releases the work's claims after a failed step and when the loop stops. Must not throw. */
  release?(): Promise<void>
  /** Milliseconds for which a sleeping loop collects nudges before its next step. */
  gatherMs: number
  /** Milliseconds after which a sleeping loop runs a step without a nudge; null if it waits for a nudge. */
  sweepMs: number | null
  /** Log messages for the first failure of a series, and for the first success after the series. */
  messages: { failing: string; recovered: string }
  /** Fields logged with both messages. */
  details: object
}

type LoopDeps = Pick<Platform, 'clock'> & { log: Pick<Platform['log'], 'info' | 'warn'> }

export type Loop = {
  /** Wakes the loop, because there may be work. */
  nudge(): void
  /** Aborts the running step; resolves when it has ended and its claims are released. */
  stop(): Promise<void>
}

/** The pause after a failed step. */
const BACKOFF = { firstMs: 1_000, maxMs: 60_000, jitter: 1 / 2 }
/** Share of a step's duration for which the loop pauses after the step, so that requests get CPU time. */
const PAUSE_SHARE = 0.25
/** Maximum milliseconds of this pause. */
const PAUSE_MS = 50

/** Starts the loop; the first step runs at once. */
export function startLoop({ clock, log }: LoopDeps, work: LoopWork): Loop {
  const { messages, details } = work
  const stopping = new AbortController()
  const { signal } = stopping
  let isNudged = false
  /** Ends the current sleep if it is one that a nudge ends. */
  let wake = () => {}
  let failures = 0

  /** Sleeps for `ms` milliseconds (null: no limit) or until the loop stops; with `untilNudged`, also until a nudge. */
  const sleep = (ms: number | null, { untilNudged = false } = {}) =>
    new Promise<void>((resolve) => {
      if (signal.aborted) return resolve()
      const end = () => {
        clock.clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = ms === null ? undefined : clock.setTimeout(end, ms)
      timer?.unref()
      signal.addEventListener('abort', end)
      if (untilNudged) wake = end
    })

  async function runStep(): Promise<void> {
    const began = clock.performance.now()
    isNudged = false
    const isMore = await work.step(signal)
    if (failures > 0) log.info(details, messages.recovered)
    failures = 0
    if (isMore) return sleep(Math.min((clock.performance.now() - began) * PAUSE_SHARE, PAUSE_MS))
    work.idle?.()
    if (!isNudged) await sleep(work.sweepMs, { untilNudged: true })
    await sleep(work.gatherMs)
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await runStep()
      } catch (err) {
        if (signal.aborted) break
        await work.release?.()
        if (failures++ === 0) log.warn({ ...details, err }, messages.failing)
        await sleep(backoffMs(BACKOFF, failures))
      }
    }
    await work.release?.()
  }

  const running = run()
  return {
    nudge() {
      isNudged = true
      wake()
    },
    async stop() {
      stopping.abort(new Error('the worker is stopping'))
      await running
    },
  }
}
