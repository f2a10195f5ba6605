// Tests when a long loop yields to the event loop. The intervals are measured on a fake clock.

import { describe, expect, it } from 'vitest'
import { createYield, yieldToEventLoop } from '../src/yield.ts'

describe('yielding to the event loop', () => {
  it('runs waiting callbacks', async () => {
    let ran = false
    setImmediate(() => (ran = true))
    await yieldToEventLoop()
    expect(ran).toBe(true)
  })

  it('is due each time the loop has run for 5 ms, and not before', async () => {
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

  it('counts the 5 ms from the moment the loop resumes, not from the moment it yielded', async () => {
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
