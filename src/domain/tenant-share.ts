// Limits heavy work of one tenant to a share of the time while other tenants are active: after each piece of work, the
// tenant pauses. So the event loop has time for the requests of other tenants, however long the work takes.

import type { Clock } from '../clock.ts'
import type { TenantActivity } from './tenant-activity.ts'

/** Maximum share of the time in which one tenant's heavy work of a kind runs beside other tenants. */
const SHARE = 1 / 3
/** Time of work that a tenant may use without a pause after it has paused for twice as long, ms. */
const BURST_MS = 100
/** Maximum pause after one piece of work, ms. Work that waits for a provider must not stop the tenant for as long. */
const MAX_PAUSE_MS = 1_000
/** Time for which the used share of a tenant is remembered, ms. Longer work causes the maximum pause anyway. */
const KEPT_MS = 60_000

export type TenantShare = {
  /** Charges `ms` of processor time for work that has just ended. Returns the pause before the tenant's next, in ms. */
  charge(tenant: string, ms: number): number
}

/** The generic cell rate algorithm: each tenant has one time, which its work moves ahead. */
export function createTenantShare(
  clock: Pick<Clock, 'performance'>,
  activity: Pick<TenantActivity, 'hasOthers'>,
): TenantShare {
  /** The time until which the work of each tenant has used its share, the last charged tenant last. */
  const usedUntil = new Map<string, number>()
  return {
    charge(tenant, ms) {
      if (!activity.hasOthers(tenant)) return 0
      const end = clock.performance.now()
      for (const [each, until] of usedUntil) {
        if (until > end - KEPT_MS) break
        usedUntil.delete(each)
      }
      const until = Math.max(usedUntil.get(tenant) ?? -Infinity, end - ms - BURST_MS * (1 / SHARE - 1)) + ms / SHARE
      // A timer takes at least 1 ms, so shorter pauses add up before there is one.
      const pause = Math.floor(Math.min(Math.max(0, until - end), MAX_PAUSE_MS))
      usedUntil.delete(tenant)
      usedUntil.set(tenant, Math.min(until, end + MAX_PAUSE_MS))
      return pause
    },
  }
}
