// Limits the concurrent work of each tenant, so that no tenant exhausts the resources that all tenants share: database
// connections, CPU and memory. Work beyond the limit waits in order of arrival; other tenants do not wait for it.

import { ServerBusy } from '../errors.ts'
import { QueueDelay, type DelaySource } from '../queue-delay.ts'

/**
 * Maximum number of waiting pieces of work of one kind per tenant. It allows for as many open sockets, because one
 * event may be rendered for each of them.
 */
export const MAX_WAITING = 10_000

/**
 * The work of one tenant: the number of running pieces, the `resolve` function of each waiting one, and the waits, once
 * a piece has waited.
 */
type TenantWork = { running: number; waiting: (() => void)[]; delay: QueueDelay | null }

/** As a source of delays, it returns the delay of the tenant whose work waits longest. */
export type TenantGate = DelaySource & {
  /** Number of waiting pieces of work of all tenants. */
  readonly waiting: number
  /** Runs the work as soon as the tenant's limit allows. @throws ServerBusy if MAX_WAITING pieces of work wait */
  run<T>(tenant: string, work: () => Promise<T> | T): Promise<T>
}

/** The gates of one process, by kind of work. To avoid deadlocks, work may only start work of kinds listed below it. */
export type TenantGates = {
  /** Parsing and answering requests with the largest bodies; one at a time, because they use the most memory. */
  batches: TenantGate
  /** Parsing and answering requests with a large body. */
  bodies: TenantGate
  /** Building large contexts. */
  contexts: TenantGate
  /** Extracting, comparing and recording facts, and writing summaries and profiles. */
  memory: TenantGate
  /** Database reads of queries. */
  reads: TenantGate
  /** Searching scopes that are too large to read completely. */
  searches: TenantGate
}

/** Maximum number of concurrent pieces of heavy work of each kind per tenant. */
const HEAVY_CONCURRENCY = 2

/** @param readConnections number of connections for reads; one tenant uses at most all but one of them */
export const createTenantGates = (readConnections: number): TenantGates => ({
  batches: createTenantGate(1),
  bodies: createTenantGate(HEAVY_CONCURRENCY),
  contexts: createTenantGate(HEAVY_CONCURRENCY),
  memory: createTenantGate(HEAVY_CONCURRENCY),
  reads: createTenantGate(Math.max(1, readConnections - 1)),
  searches: createTenantGate(HEAVY_CONCURRENCY),
})

/** @param limit maximum number of concurrent pieces of work per tenant */
export function createTenantGate(limit: number): TenantGate {
  const workByTenant = new Map<string, TenantWork>()

  function leave(tenant: string, current: TenantWork): void {
    const next = current.waiting.shift()
    // The next piece of work replaces the one that ended, so `running` does not change.
    if (next) return next()
    current.running -= 1
    if (current.running === 0) workByTenant.delete(tenant)
  }

  return {
    get waiting() {
      return [...workByTenant.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
    },
    take(now) {
      let longest = 0
      for (const { delay } of workByTenant.values()) if (delay) longest = Math.max(longest, delay.take(now))
      return longest
    },
    async run(tenant, work) {
      let current = workByTenant.get(tenant)
      if (!current) workByTenant.set(tenant, (current = { running: 0, waiting: [], delay: null }))
      const entered = current
      if (entered.running < limit) {
        entered.running += 1
        entered.delay?.record(0)
      } else if (entered.waiting.length >= MAX_WAITING) throw new ServerBusy(MAX_WAITING)
      else {
        const delay = (entered.delay ??= new QueueDelay())
        const enteredAt = delay.enter()
        await new Promise<void>((resolve) => entered.waiting.push(resolve))
        delay.leave(enteredAt)
      }
      try {
        return await work()
      } finally {
        leave(tenant, entered)
      }
    },
  }
}
