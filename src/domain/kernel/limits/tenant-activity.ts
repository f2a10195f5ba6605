// Remembers which tenants have used the process recently, so that limits that protect tenants from each other apply
// only while there are several.

import type { Clock } from '../../../runtime/clock.ts'

/** Time for which a tenant counts as active after an operation has started, ms. */
const ACTIVE_MS = 1_000

export type TenantActivity = {
  /** Call it when an operation of the tenant starts. */
  note(tenant: string): void
  /** Whether an operation of another tenant started within the last ACTIVE_MS. */
  hasOthers(tenant: string): boolean
}

/** Stores two times only, because `hasOthers` needs only the latest operation of another tenant. */
export function createTenantActivity(clock: Pick<Clock, 'performance'>): TenantActivity {
  let latest: string | null = null
  let latestAt = -Infinity
  /** Time of the latest operation of any tenant but `latest`. */
  let previousAt = -Infinity
  return {
    note(tenant) {
      if (tenant !== latest) {
        latest = tenant
        previousAt = latestAt
      }
      latestAt = clock.performance.now()
    },
    hasOthers: (tenant) => clock.performance.now() - (tenant === latest ? previousAt : latestAt) < ACTIVE_MS,
  }
}
