// Bounds the work that one tenant does at the same time, so that it cannot take what all tenants share: connections to
// the database, the processor and memory. Work beyond the bound waits in order of arrival; other tenants do not wait for
// it.

import { ServerBusy } from '../errors.ts'

/**
 * Maximum number of pieces of work of one kind that wait in one tenant. As many sockets may be open, and one event may be
 * rendered for each of them.
 */
export const MAX_WAITING = 10_000

type Place = { running: number; waiting: (() => void)[] }

export type TenantGate = {
  /** Runs the work when fewer than the maximum are running in the tenant. @throws ServerBusy if MAX_WAITING wait */
  run<T>(tenant: string, work: () => Promise<T> | T): Promise<T>
}

/** The bounds of one process, by kind of work. Work of one kind may start work of a kind further down, but not up. */
export type TenantGates = {
  /** Parsing and answering requests with the largest bodies: one at a time, because they take the most memory. */
  batches: TenantGate
  /** Parsing and answering requests with a large body. */
  bodies: TenantGate
  /** Building large contexts. */
  contexts: TenantGate
  /** Extracting, comparing and recording facts, and writing summaries and profiles. */
  memory: TenantGate
  /** Reads of queries. */
  reads: TenantGate
  /** Searching scopes that are too large to read completely. */
  searches: TenantGate
}

/** Maximum number of pieces of heavy work of each kind that one tenant runs at the same time. */
const HEAVY_CONCURRENCY = 2

/** @param readConnections number of connections for reads; a tenant uses all but one of them */
export const createTenantGates = (readConnections: number): TenantGates => ({
  batches: createTenantGate(1),
  bodies: createTenantGate(HEAVY_CONCURRENCY),
  contexts: createTenantGate(HEAVY_CONCURRENCY),
  memory: createTenantGate(HEAVY_CONCURRENCY),
  reads: createTenantGate(Math.max(1, readConnections - 1)),
  searches: createTenantGate(HEAVY_CONCURRENCY),
})

/** @param maximum number of pieces of work that one tenant runs at the same time */
export function createTenantGate(maximum: number): TenantGate {
  const places = new Map<string, Place>()

  function leave(tenant: string, place: Place): void {
    const next = place.waiting.shift()
    // The next one takes over the place.
    if (next) return next()
    place.running -= 1
    if (place.running === 0) places.delete(tenant)
  }

  return {
    async run(tenant, work) {
      let place = places.get(tenant)
      if (!place) places.set(tenant, (place = { running: 0, waiting: [] }))
      const entered = place
      if (entered.running < maximum) entered.running += 1
      else if (entered.waiting.length >= MAX_WAITING) throw new ServerBusy(MAX_WAITING)
      else await new Promise<void>((resolve) => entered.waiting.push(resolve))
      try {
        return await work()
      } finally {
        leave(tenant, entered)
      }
    },
  }
}
