// Periodic tasks: run at their interval, one run at a time. The clock is fake.

import { describe, expect, it, vi } from 'vitest'
import { every, sleep } from '../../../src/runtime/clock.ts'
import { fakeClock } from '../../support/fake-clock.ts'

describe('a periodic task', () => {
  const clock = fakeClock()

  it('runs each time the interval has passed, and not before', async () => {
    const task = vi.fn(async () => {})
    const stop = every(clock, 100, task)
    await clock.advance(99)
    expect(task).not.toHaveBeenCalled()
    await clock.advance(201)
    expect(task).toHaveBeenCalledTimes(3)
    await stop()
    await clock.advance(1_000)
    expect(task).toHaveBeenCalledTimes(3)
  })

  it('can also run immediately', async () => {
    const task = vi.fn(async () => {})
    const stop = every(clock, 100, task, { atOnce: true })
    expect(task).toHaveBeenCalledTimes(1)
    await clock.advance(100)
    expect(task).toHaveBeenCalledTimes(2)
    await stop()
  })

  it('never runs concurrently with itself', async () => {
    const task = vi.fn(() => sleep(clock, 250))
    const stop = every(clock, 100, task)
    await clock.advance(340)
    expect(task).toHaveBeenCalledTimes(1)
    await clock.advance(60)
    expect(task).toHaveBeenCalledTimes(2)
    const stopped = stop()
    await clock.advance(250)
    await stopped
  })

  it('stops once the current run has ended', async () => {
    let end = () => {}
    const stop = every(clock, 100, () => new Promise<void>((resolve) => (end = resolve)))
    await clock.advance(100)
    let isStopped = false
    const stopped = stop().then(() => (isStopped = true))
    await clock.advance(1_000)
    expect(isStopped).toBe(false)
    end()
    await stopped
  })
})
