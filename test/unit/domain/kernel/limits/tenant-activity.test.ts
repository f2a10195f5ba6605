// The activity of tenants: whether other tenants were active within the last second.

import { describe, expect, it } from 'vitest'
import { createTenantActivity } from '../../../../../src/domain/kernel/limits/tenant-activity.ts'

describe('the other tenants', () => {
  it('are active for a second after their latest operation', () => {
    let now = 0
    const activity = createTenantActivity({ performance: { now: () => now } })
    expect(activity.hasOthers('acme')).toBe(false)
    activity.note('other')
    now = 999
    expect(activity.hasOthers('acme')).toBe(true)
    expect(activity.hasOthers('other')).toBe(false)
    now = 1_000
    expect(activity.hasOthers('acme')).toBe(false)
  })

  it('stay active while the tenant itself sends operations', () => {
    let now = 0
    const activity = createTenantActivity({ performance: { now: () => now } })
    activity.note('other')
    for (now = 1; now < 1_000; now += 1) {
      activity.note('acme')
      expect(activity.hasOthers('acme')).toBe(true)
    }
    activity.note('acme')
    expect(activity.hasOthers('acme')).toBe(false)
    expect(activity.hasOthers('other')).toBe(true)
  })

  it('include each of several tenants', () => {
    let now = 0
    const activity = createTenantActivity({ performance: { now: () => now } })
    activity.note('first')
    now = 900
    activity.note('second')
    now = 1_500
    expect(activity.hasOthers('first')).toBe(true)
    expect(activity.hasOthers('second')).toBe(false)
    expect(activity.hasOthers('third')).toBe(true)
  })
})
