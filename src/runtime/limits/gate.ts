// Limits the concurrent work of each key, for example of each tenant. Work beyond the limit waits in order of arrival;
// work of other keys does not wait for it. After a piece of work, its key may pause.

import { performance } from 'node:perf_hooks'
import type { Clock } from '../clock.ts'
import { QueueFull } from '../../errors.ts'
import { QueueDelay, type DelaySource } from '../queue-delay.ts'

/**
 * Maximum number of waiting pieces of work per key. It allows for as many open sockets, because one event may be
 * rendered for each of them.
 * @internal
 */
export const MAX_WAITING = 10_000

/**
 * The work of one key.
 * @property running number of places in use, by running pieces and by pieces that have ended but whose pause has not
 * @property waiting the places and the `resolve` function of each waiting piece
 * @property delay the waits, once a piece has waited
 * @property pausedUntil end of the last pause, as `performance.now()`
 */
type KeyWork = {
  running: number
  waiting: { places: number; start: () => void }[]
  delay: QueueDelay | null
  pausedUntil: number
}

/**
 * As a DelaySource, it returns the longest delay of any key that did not pause in the period: waiting for a pause does
 * not mean that the process is overloaded.
 */
export type Gate = DelaySource & {
  /** Number of waiting pieces of work of all keys. */
  readonly waiting: number
  /**
   * Runs the work as soon as the key's limit allows. The work may charge the key for processor time in addition to what
   * the gate charges, in ms.
   * @param places number of pieces as which the work counts, 1 by default; the whole limit if that is lower
   * @throws QueueFull if too many pieces of work wait
   */
  run<T>(key: string, work: (charge: (ms: number) => void) => Promise<T> | T, places?: number): Promise<T>
}

/**
 * `activity`: the time for which the event loop was active during the work. It excludes the time for which the work
 * waited for a provider, but includes concurrent work, so it suits gates that admit few pieces of work at once.
 * `elapsed`: the whole time of the work, for work that the database does.
 */
type Charged = 'activity' | 'elapsed' | 'nothing'

export type GateClock = Pick<Clock, 'setTimeout' | 'performance'>

export type GateOptions = {
  /** Returns the pause after work that is charged `ms`, in ms; absent for no pauses. */
  pauseAfter?: (key: string, ms: number) => number
  /** What the gate charges the key for, in addition to what the work charges itself. `activity` by default. */
  charged?: Charged
  maxWaiting?: number
}

/** Starts to measure what a gate charges. The returned function returns the time since then, ms. */
const stopwatches: Record<Charged, (clock: GateClock) => () => number> = {
  activity: () => {
    const before = performance.eventLoopUtilization()
    return () => performance.eventLoopUtilization(before).active
  },
  elapsed: (clock) => {
    const startedAt = clock.performance.now()
    return () => clock.performance.now() - startedAt
  },
  nothing: () => () => 0,
}

/** Whether work with so many places may start beside the running work. */
const fits = (running: number, places: number, limit: number) => running === 0 || running + places <= limit

/** @param limitOf returns the current maximum number of concurrent pieces of a key's work, at least 1 */
export function createGate(
  clock: GateClock,
  limitOf: (key: string) => number,
  { pauseAfter, charged = 'activity', maxWaiting = MAX_WAITING }: GateOptions = {},
): Gate {
  const workByKey = new Map<string, KeyWork>()
  /** Time of the last call of `take`. */
  let takenAt = 0

  function leave(key: string, current: KeyWork, places: number): void {
    current.running -= places
    if (current.running === 0 && current.waiting.length === 0) return void workByKey.delete(key)
    const limit = limitOf(key)
    // The limit may have grown, so several pieces may start.
    while (current.waiting.length > 0 && fits(current.running, current.waiting[0]!.places, limit)) {
      const next = current.waiting.shift()!
      current.running += next.places
      next.start()
    }
  }

  /** Lets the next work start after the pause. @param ms what the key is charged for the work that has ended */
  function end(key: string, current: KeyWork, places: number, ms: number): void {
    const pause = pauseAfter ? pauseAfter(key, ms) : 0
    if (pause > 0) {
      current.pausedUntil = Math.max(current.pausedUntil, clock.performance.now() + pause)
      clock.setTimeout(leave, pause, key, current, places)
    } else leave(key, current, places)
  }

  return {
    get waiting() {
      return [...workByKey.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
    },
    take(now) {
      let longest = 0
      for (const current of workByKey.values()) {
        const delay = current.delay?.take(now) ?? 0
        if (current.pausedUntil <= takenAt) longest = Math.max(longest, delay)
      }
      takenAt = now
      return longest
    },
    async run(key, work, places = 1) {
      let current = workByKey.get(key)
      if (!current) workByKey.set(key, (current = { running: 0, waiting: [], delay: null, pausedUntil: 0 }))
      const entered = current
      if (entered.waiting.length === 0 && fits(entered.running, places, limitOf(key))) {
        entered.running += places
        entered.delay?.record(0)
      } else if (entered.waiting.length >= maxWaiting) throw new QueueFull(maxWaiting)
      else {
        const delay = (entered.delay ??= new QueueDelay(clock))
        const enteredAt = delay.enter()
        await new Promise<void>((start) => entered.waiting.push({ places, start }))
        delay.leave(enteredAt)
      }
      const measured = pauseAfter ? stopwatches[charged](clock) : stopwatches.nothing(clock)
      let chargedByWork = 0
      try {
        return await work((ms) => {
          chargedByWork += ms
        })
      } finally {
        end(key, entered, places, chargedByWork + measured())
      }
    },
  }
}
