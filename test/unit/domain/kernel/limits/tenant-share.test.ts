// The pauses of a tenant's heavy work while other tenants are active.

import { describe, expect, it } from 'vitest'
import { createTenantShare } from '../../../../../src/domain/kernel/limits/tenant-share.ts'

const beside = { hasOthers: () => true }

/** Runs work of these durations in ms, each `idle` ms after the pause before it. Returns the pauses in ms. */
function pausesOf(lengths: readonly number[], activity = beside, idle = 0): number[] {
  let now = 1_000
  const share = createTenantShare({ performance: { now: () => now } }, activity)
  return lengths.map((ms) => {
    now += ms
    const pause = share('acme', ms)
    now += pause + idle
    return pause
  })
}

describe('heavy work while other tenants are active', () => {
  it('pauses for twice as long as it ran, after a first burst of 100 ms', () => {
    expect(pausesOf([50, 50, 50, 20, 20])).toEqual([0, 0, 100, 40, 40])
    expect(pausesOf([300, 10])).toEqual([400, 20])
  })

  it('may run in a burst again after it has been idle', () => {
    expect(pausesOf([40, 40, 40, 40, 40], beside, 80)).toEqual([0, 0, 0, 0, 0])
  })

  it('has no pause below 1 ms; shorter pauses add up', () => {
    expect(pausesOf([100, 0.2, 0.2, 0.2])).toEqual([0, 0, 0, 1])
  })

  it('never pauses longer than a second', () => {
    expect(pausesOf([30_000, 10])).toEqual([1_000, 20])
  })

  it('has pauses that depend on its own tenant only', () => {
    let now = 1_000
    const share = createTenantShare({ performance: { now: () => now } }, beside)
    now += 400
    expect(share('acme', 400)).toBe(600)
    expect(share('other', 100)).toBe(0)
  })

  it('never pauses while no other tenant is active', () => {
    expect(pausesOf([300, 300, 300], { hasOthers: () => false })).toEqual([0, 0, 0])
  })
})
