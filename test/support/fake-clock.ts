// A clock that stands still until a test advances it.

import { createClock } from '@sinonjs/fake-timers'
import type { Clock } from '../../src/clock.ts'

export type FakeClock = Clock & {
  /** Moves the time forward and calls the timers that fall due, in order. Awaits the promises that they settle. */
  advance(ms: number): Promise<void>
}

/** Starts at the current time, so that its dates are close to those of the database. */
export function fakeClock(): FakeClock {
  const clock = createClock(Date.now())
  return Object.assign(clock as unknown as Clock, { advance: async (ms: number) => void (await clock.tickAsync(ms)) })
}
