// Tests when a long loop yields to the event loop, and in which order waiting loops run. The clock of the loops is
// fake; the event loop is real.

import { describe, expect, it } from 'vitest'
import { createYield, yieldToEventLoop } from '../../../src/runtime/yield.ts'

describe('yielding to the event loop', () => {
  it('runs waiting callbacks', async () => {
    let ran = false
    setImmediate(() => (ran = true))
    await yieldToEventLoop()
    expect(ran).toBe(true)
  })

  it('runs one waiting loop in each iteration of the event loop, and first the loop that has waited longest', async () => {
    const events: string[] = []
    const loop = async (name: string) => {
      for (let n = 0; n < 2; n++) {
        await yieldToEventLoop()
        events.push(name)
      }
    }
    let isDone = false
    const countIterations = () => {
      if (isDone) return
      events.push('|')
      setImmediate(countIterations)
    }
    const loops = Promise.all([loop('a'), loop('b')])
    setImmediate(countIterations)
    await loops
    isDone = true
    expect(events.join('')).toBe('a|b|a|b')
  })

  it('is due each time the loop has run for 1 ms, and not before', async () => {
    let now = 100
    const yieldIfDue = createYield({ performance: { now: () => now } })
    const yielded: number[] = []
    for (; now < 104; now += 0.5) {
      const yielding = yieldIfDue()
      if (yielding) yielded.push(now)
      await yielding
    }
    expect(yielded).toEqual([101, 102, 103])
  })

  it('counts the 1 ms from the moment the loop resumes, not from the moment it yielded', async () => {
    let now = 0
    const yieldIfDue = createYield({ performance: { now: () => now } })
    now = 5
    const yielding = yieldIfDue()
    now = 25
    await yielding
    now = 25.5
    expect(yieldIfDue()).toBe(undefined)
    now = 26
    expect(yieldIfDue()).toBeInstanceOf(Promise)
  })
})
