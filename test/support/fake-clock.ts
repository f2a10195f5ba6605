// Clocks that tests advance.

import { setImmediate } from 'node:timers/promises'
import { createClock } from '@sinonjs/fake-timers'
import { afterAll, beforeAll } from 'vitest'
import type { Clock } from '../../src/runtime/clock.ts'

export type FakeClock = Clock & {
  /** Moves the time forward and calls the timers that fall due, in order. */
  advance(ms: number): Promise<void>
}

/** Starts at the current time, so that its dates are close to those of the database. */
const create = () => createClock(Date.now())

/** Returns a clock that stands still until it is advanced. `advance` awaits the promises that the timers settle. */
export function fakeClock(): FakeClock {
  const clock = create()
  return Object.assign(clock as unknown as Clock, { advance: async (ms: number) => void (await clock.tickAsync(ms)) })
}

/** Interval at which a running clock takes over the time of the system, ms. */
const STEP_MS = 5
/** The largest step of a running clock that is moved ahead, ms. */
const ADVANCE_MS = 100

/**
 * Returns a clock for the server of a suite: it runs with the system's time, because a server needs its timers for every
 * request, and `advance` moves it ahead, in steps between which the server can send what its timers have started.
 */
export function useRunningClock(): FakeClock {
  const clock = create()
  let timer: NodeJS.Timeout
  beforeAll(() => {
    let at = performance.now()
    timer = setInterval(() => {
      const now = performance.now()
      clock.tick(Math.floor(now - at))
      at += Math.floor(now - at)
    }, STEP_MS)
  })
  afterAll(() => clearInterval(timer))
  async function advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= ADVANCE_MS) {
      clock.tick(Math.min(left, ADVANCE_MS))
      await setImmediate()
    }
  }
  return Object.assign(clock as unknown as Clock, { advance })
}
