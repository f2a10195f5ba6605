// Limits heavy work of one tenant to a share of the time while other tenants are active: after each piece of work, the
// tenant pauses. So the event loop has time for the requests of other tenants, however long the work takes.

import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../runtime/clock.ts'
import { createBucket, type Bucket } from '../../../runtime/limits/bucket.ts'
import type { TenantActivity } from './tenant-activity.ts'

/** Maximum share of the time in which one tenant's heavy work of a kind runs beside other tenants. */
const SHARE = 1 / 3
/** Time of work that a tenant may use without a pause after it has paused for twice as long, ms. */
const BURST_MS = 100
/** Time in which that work becomes allowed again, ms. */
const FILL_MS = BURST_MS * (1 / SHARE - 1)
/** Maximum pause after one piece of work, ms. Work that waits for a provider must not stop the tenant for as long. */
const MAX_PAUSE_MS = 1_000
/** Maximum number of tenants whose used share is remembered, the last charged ones. */
const MAX_TENANTS = 10_000

/**
 * Returns a function that charges a tenant `ms` of processor time for work that has just ended, and returns the pause
 * before the tenant's next work, in ms. The tokens of a tenant's bucket are ms of work.
 */
export function createTenantShare(
  clock: Pick<Clock, 'performance'>,
  activity: Pick<TenantActivity, 'hasOthers'>,
): (tenant: string, ms: number) => number {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_TENANTS })
  return (tenant, ms) => {
    if (!activity.hasOthers(tenant)) return 0
    const now = clock.performance.now()
    let bucket = buckets.get(tenant)
    if (!bucket) buckets.set(tenant, (bucket = createBucket({ tokens: FILL_MS * SHARE, fillMs: FILL_MS })))
    // A timer takes at least 1 ms, so shorter pauses add up before there is one.
    return Math.floor(bucket.charge(ms, now - ms, now, MAX_PAUSE_MS))
  }
}
