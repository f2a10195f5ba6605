// Periodic tasks: run at their interval, one run at a time. The clock is fake.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startPeriodic } from '../../../../src/domain/job/periodic.ts'

describe('a periodic task', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('runs each time the interval has passed, and not before', async () => {
    const task = vi.fn(async () => {})
    const stop = startPeriodic(100, task)
    await vi.advanceTimersByTimeAsync(99)
    expect(task).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(201)
    expect(task).toHaveBeenCalledTimes(3)
    await stop()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(task).toHaveBeenCalledTimes(3)
  })

  it('can also run immediately', async () => {
    const task = vi.fn(async () => {})
    const stop = startPeriodic(100, task, { atOnce: true })
    expect(task).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(100)
    expect(task).toHaveBeenCalledTimes(2)
    await stop()
  })

  it('never runs concurrently with itself', async () => {
    const task = vi.fn(() => new Promise<void>((resolve) => setTimeout(resolve, 250)))
    const stop = startPeriodic(100, task)
    await vi.advanceTimersByTimeAsync(340)
    expect(task).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(60)
    expect(task).toHaveBeenCalledTimes(2)
    const stopped = stop()
    await vi.advanceTimersByTimeAsync(250)
    await stopped
  })

  it('stops once the current run has ended', async () => {
    let end = () => {}
    const stop = startPeriodic(100, () => new Promise<void>((resolve) => (end = resolve)))
    await vi.advanceTimersByTimeAsync(100)
    let isStopped = false
    const stopped = stop().then(() => (isStopped = true))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(isStopped).toBe(false)
    end()
    await stopped
  })
})
