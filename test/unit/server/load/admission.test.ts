// Whether an operation may start: the limit, which follows the measured load, and the shares of tenants.

import { describe, expect, test, vi } from 'vitest'
import {
  createAdmission,
  MAX_LIMIT,
  MIN_LIMIT,
  MIN_SHARE,
  nextLimit,
  shareOf,
} from '../../../../src/server/load/admission.ts'
import { fakeClock } from '../../../support/fake-clock.ts'

describe('the next limit', () => {
  test.each([
    ['grows without delay', 100, { delayMs: 0, inProgress: 90, completedPerSecond: 1_000 }, 125],
    ['grows up to the maximum', MAX_LIMIT - 1, { delayMs: 0, inProgress: 1, completedPerSecond: 1 }, MAX_LIMIT],
    ['stays while the delay is accepted', 100, { delayMs: 150, inProgress: 90, completedPerSecond: 1_000 }, 100],
    [
      'falls to the number of operations that are completed within the accepted delay',
      MAX_LIMIT,
      { delayMs: 900, inProgress: 6_000, completedPerSecond: 3_000 },
      600,
    ],
    [
      'stays while more operations than the limit are in progress',
      600,
      { delayMs: 900, inProgress: 2_000, completedPerSecond: 1_000 },
      600,
    ],
    ['never grows because of a delay', 600, { delayMs: 201, inProgress: 500, completedPerSecond: 9_000 }, 600],
    ['never falls below the minimum', 600, { delayMs: 900, inProgress: 500, completedPerSecond: 0 }, MIN_LIMIT],
  ])('%s', (_, limit, state, expected) => {
    expect(nextLimit(limit, state, 200)).toBe(expected)
  })

  test('keeps the throughput, and bounds the queue, when three times the capacity arrives', () => {
    const capacity = 3_000
    const tickSeconds = 0.25
    let [limit, inProgress, served, longest] = [MAX_LIMIT, 0, 0, 0]
    const delays: number[] = []
    for (let tick = 0; tick < 240; tick++) {
      const admitted = Math.max(0, Math.min(3 * capacity * tickSeconds, limit + capacity * tickSeconds - inProgress))
      inProgress += admitted
      const completed = Math.min(inProgress, capacity * tickSeconds)
      inProgress -= completed
      if (tick >= 40) [served, longest] = [served + completed, Math.max(longest, inProgress)]
      delays.push((inProgress / capacity) * 1000)
      const delayMs = Math.min(...delays.slice(-4))
      limit = nextLimit(limit, { delayMs, inProgress, completedPerSecond: completed / tickSeconds }, 200)
    }
    expect(served / (200 * capacity * tickSeconds)).toBeGreaterThan(0.99)
    expect(longest / capacity).toBeLessThan(0.5)
  })
})

test.each([
  [100, 1, 100],
  [100, 3, 33],
  [64, 100, MIN_SHARE],
])('of a limit of %i, each of %i tenants has a share of %i', (limit, tenants, share) => {
  expect(shareOf(limit, tenants)).toBe(share)
})

describe('while a queue never becomes empty', () => {
  const log = { warn: vi.fn<(details: object) => void>(), info: vi.fn<(details: object) => void>() }
  const start = (maxDelayMs = 200) => {
    const clock = fakeClock()
    const queue = { delayMs: 0, take: () => queue.delayMs }
    return { clock, queue, admission: createAdmission(clock, { appends: queue }, maxDelayMs, log) }
  }

  test('a delay of less than a second refuses nothing', async () => {
    const { clock, queue, admission } = start()
    queue.delayMs = 500
    await clock.advance(750)
    expect(admission.limit).toBe(MAX_LIMIT)
    admission.close()
  })

  test('further operations are refused, except of a tenant below its share, until the queue is empty', async () => {
    const { clock, queue, admission } = start()
    queue.delayMs = 500
    await clock.advance(1_000)
    expect(admission.limit).toBe(MIN_LIMIT)
    const running = Array.from({ length: MIN_LIMIT }, () => admission.enter('busy')!)
    expect(admission.isShedding).toBe(false)
    expect(admission.enter('busy')).toBeNull()
    expect(admission.isFullFor('busy')).toBe(true)
    const others = Array.from({ length: MIN_LIMIT / 2 }, () => admission.enter('other'))
    expect(others).not.toContain(null)
    expect(admission.enter('other')).toBeNull()
    expect(admission.isShedding).toBe(true)
    await clock.advance(250)
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(
      { queue: 'appends', delayMs: 500, limit: MIN_LIMIT },
      expect.any(String),
    )

    for (const leave of [...running, ...others]) leave!()
    expect(admission.inProgress).toBe(0)
    queue.delayMs = 0
    await clock.advance(10_000)
    expect(admission.limit).toBe(MAX_LIMIT)
    expect(admission.isShedding).toBe(false)
    expect(log.info).toHaveBeenCalledOnce()
    admission.close()
  })

  test('an operation that leaves twice is subtracted once', () => {
    const { admission } = start()
    const leave = admission.enter('busy')!
    admission.enter('busy')
    leave()
    leave()
    expect(admission.inProgress).toBe(1)
    admission.close()
  })

  test('nothing is refused if the accepted delay is 0', async () => {
    const { clock, queue, admission } = start(0)
    queue.delayMs = 10_000
    await clock.advance(5_000)
    expect(Array.from({ length: MAX_LIMIT + 1 }, () => admission.enter('busy'))).not.toContain(null)
    admission.close()
  })
})
