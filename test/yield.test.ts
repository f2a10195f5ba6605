// Long loops yield to other work, as often as they should and no more. On a fake clock.

import { describe, expect, it } from 'vitest'
import { createYield, yieldToEventLoop } from '../src/yield.ts'

describe('yielding to the event loop', () => {
  it('runs waiting callbacks', async () => {
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

  it('measures from the moment the loop resumes, not from when it yielded', async () => {
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
