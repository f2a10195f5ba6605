// Long loops let the process do other work, as often as they should and no more. On a clock of the test's own.

import { describe, expect, it } from 'vitest'
import { createYield, yieldToEventLoop } from '../src/yield.ts'

describe('yielding to the event loop', () => {
  it('lets callbacks run that were waiting', async () => {
    let ran = false
    setImmediate(() => (ran = true))
    await yieldToEventLoop()
    expect(ran).toBe(true)
  })

  it('happens in a loop each time its 5 ms are used up, and not before', async () => {
    let now = 100
    const yieldIfDue = createYield(() => now)
    const yielded: number[] = []
    for (; now < 120; now += 2) {
      const yielding = yieldIfDue()
      if (yielding) yielded.push(now)
      await yielding
    }
    expect(yielded).toEqual([106, 112, 118])
  })

  it('counts from the moment that the loop goes on, not from that at which it yielded', async () => {
    let now = 0
    const yieldIfDue = createYield(() => now)
    now = 5
    const yielding = yieldIfDue()
    now = 25
    await yielding
    now = 29
    expect(yieldIfDue()).toBe(undefined)
    now = 30
    expect(yieldIfDue()).toBeInstanceOf(Promise)
  })
})
