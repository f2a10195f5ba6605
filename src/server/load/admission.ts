// Decides whether an operation may start, for every transport, before its document is parsed. While a queue never
// becomes empty, the operations in progress are limited to the number that the process completes within the accepted
// delay. Further operations are refused, so that the admitted ones are served at full speed and the queues do not grow.
//
// The delay is measured as in CoDel (queue-delay.ts). The limit follows Little's law: operations in progress =
// completions per second × delay in seconds.

import { every, type Clock } from '../../runtime/clock.ts'
import type { Log } from '../../domain/kernel/platform.ts'
import { createTally } from '../../runtime/limits/tally.ts'
import { QueueDelay, type DelaySource } from '../../runtime/queue-delay.ts'

/**
 * Maximum and initial limit. It equals the maximum number of connections, so it refuses nothing by itself.
 * @internal
 */
export const MAX_LIMIT = 10_000
/** Minimum limit: a number of operations that keeps all connections to the database busy. @internal */
export const MIN_LIMIT = 64
/** Number of operations in progress that every tenant may always have, even if the limit is lower. @internal */
export const MIN_SHARE = 4
/** Interval at which the delay of the event loop is sampled, ms. */
const SAMPLE_MS = 50
/** Number of samples after which the limit is adapted. */
const SAMPLES_PER_TICK = 5
/** Number of ticks for which a delay must last before operations are refused. Shorter bursts are admitted. */
const WINDOW_TICKS = 4
/** Factor by which the limit grows at each tick whose delay is at most half of the accepted one. */
const GROWTH = 1.25

/** State at the end of a tick. `delayMs` is the longest delay of a queue that lasted for WINDOW_TICKS. */
export type LoadState = { delayMs: number; inProgress: number; completedPerSecond: number }

/** Returns the next limit of operations in progress. @internal */
export function nextLimit(limit: number, state: LoadState, maxDelayMs: number): number {
  const { delayMs, inProgress, completedPerSecond } = state
  if (delayMs <= maxDelayMs / 2) return Math.min(MAX_LIMIT, Math.ceil(limit * GROWTH))
  // While more operations are in progress than the limit, operations that were admitted earlier cause the delay.
  if (delayMs <= maxDelayMs || inProgress > limit) return limit
  return Math.max(MIN_LIMIT, Math.min(limit, Math.ceil((completedPerSecond * maxDelayMs) / 1000)))
}

/** Number of operations that one tenant may have in progress while the limit is reached. @internal */
export const shareOf = (limit: number, tenants: number): number => Math.max(MIN_SHARE, Math.floor(limit / tenants))

export type Admission = {
  /**
   * Counts an operation of the tenant as in progress until the returned function is called; further calls of that
   * function do nothing. Returns null if the operation must be refused.
   */
  enter(tenant: string): (() => void) | null
  /** Whether a connection of the tenant must be refused, because its operations would be refused. Counts nothing. */
  isFullFor(tenant: string): boolean
  /** Number of operations in progress. */
  readonly inProgress: number
  /** Number of operations in progress above which further ones are refused. */
  readonly limit: number
  /** Whether an operation was refused within the last WINDOW_TICKS. */
  readonly isShedding: boolean
  /** Last measured delay of each queue, ms. */
  readonly delays: ReadonlyMap<string, number>
  close(): void
}

/** Samples the event loop's delay, and calls `tick` after each SAMPLES_PER_TICK samples. Returns a function to stop. */
function startTicks(clock: Clock, loop: QueueDelay, tick: (now: number) => void): () => void {
  const { performance } = clock
  let sampledAt = performance.now()
  let samples = 0
  const stop = every(clock, SAMPLE_MS, () => {
    const now = performance.now()
    loop.record(Math.max(0, now - sampledAt - SAMPLE_MS))
    sampledAt = now
    samples += 1
    if (samples % SAMPLES_PER_TICK === 0) tick(now)
  })
  return () => void stop()
}

/**
 * Creates the meter of the queues' delays. `measure` ends a period, and returns the queue with the longest delay that
 * lasted for WINDOW_TICKS. `delays` has the last such delay of each queue, ms.
 */
function createMeter(sources: Readonly<Record<string, DelaySource>>) {
  const delays = new Map<string, number>()
  /** Delays of the last WINDOW_TICKS ticks by queue, oldest first, ms. */
  const recent = new Map<string, number[]>()
  for (const name of Object.keys(sources)) {
    delays.set(name, 0)
    recent.set(name, [])
  }
  return {
    delays,
    measure(now: number): { delayMs: number; queue: string } {
      let longest = { delayMs: 0, queue: '' }
      for (const [queue, source] of Object.entries(sources)) {
        const ticks = recent.get(queue)!
        ticks.push(source.take(now))
        if (ticks.length > WINDOW_TICKS) ticks.shift()
        const delayMs = ticks.length < WINDOW_TICKS ? 0 : Math.min(...ticks)
        delays.set(queue, delayMs)
        if (delayMs > longest.delayMs) longest = { delayMs, queue }
      }
      return longest
    },
  }
}

/**
 * Creates the admission of a process.
 * @param sources the queues in which operations wait, by name; `eventLoop` is added
 * @param maxDelayMs delay above which operations are refused, ms; 0 to refuse none
 */
export function createAdmission(
  clock: Clock,
  sources: Readonly<Record<string, DelaySource>>,
  maxDelayMs: number,
  log: Pick<Log, 'warn' | 'info'>,
): Admission {
  const loop = new QueueDelay(clock)
  const { delays, measure } = createMeter({ ...sources, eventLoop: loop })
  /** The operations in progress, by tenant. */
  const inProgress = createTally()
  /** Number of operations that have started. */
  let started = 0
  /** Time of the last ticks, and number of completed operations at that time, oldest first. */
  const rates = [{ at: clock.performance.now(), completed: 0 }]
  let limit = MAX_LIMIT
  /** Number of ticks since an operation was refused. */
  let quietTicks = Infinity
  let isReported = false
  const isShedding = () => quietTicks <= WINDOW_TICKS

  function tick(now: number): void {
    const { delayMs, queue } = measure(now)
    const completed = started - inProgress.total
    rates.push({ at: now, completed })
    if (rates.length > WINDOW_TICKS + 1) rates.shift()
    const [first] = rates
    const completedPerSecond = ((completed - first!.completed) * 1000) / Math.max(1, now - first!.at)
    limit = nextLimit(limit, { delayMs, inProgress: inProgress.total, completedPerSecond }, maxDelayMs)
    quietTicks += 1
    if (isShedding() === isReported) return
    isReported = isShedding()
    if (isReported) log.warn({ queue, delayMs, limit }, 'overloaded: refusing operations')
    else log.info({}, 'no longer overloaded')
  }

  /** Whether the tenant may not start another operation. */
  function isFullFor(tenant: string): boolean {
    if (maxDelayMs === 0 || inProgress.total < limit) return false
    const own = inProgress.of(tenant)
    if (own < shareOf(limit, inProgress.size + (own > 0 ? 0 : 1))) return false
    quietTicks = 0
    return true
  }

  return {
    get inProgress() {
      return inProgress.total
    },
    get limit() {
      return limit
    },
    get isShedding() {
      return isShedding()
    },
    delays,
    isFullFor,
    enter(tenant) {
      if (isFullFor(tenant)) return null
      started += 1
      return inProgress.enter(tenant)
    },
    close: maxDelayMs > 0 ? startTicks(clock, loop, tick) : () => {},
  }
}
