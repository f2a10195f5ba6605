// The gates of a process limit the concurrent work of each tenant, by kind of work, so that no tenant exhausts the
// resources that all tenants share: database connections, CPU and memory. While other tenants are active, the limits of
// heavy work are lower, and a tenant pauses after it (tenant-share.ts).

import { createGate, type Gate, type GateClock, type GateOptions } from '../../../runtime/limits/gate.ts'
import type { TenantActivity } from './tenant-activity.ts'
import { createTenantShare } from './tenant-share.ts'

/**
 * Maximum number of waiting queries with large answers per tenant. They would wait longer than clients do.
 * @internal
 */
export const MAX_WAITING_ANSWERS = 100

/**
 * The gates, by kind of work. To avoid deadlocks, work may only start work of kinds listed below it. In tests, work that
 * breaks this rule fails (test/support/gate-order.ts).
 */
export type TenantGates = {
  /** Parsing and answering requests with a large body. The largest take all places, because they use the most memory. */
  bodies: Gate
  /** Executing queries with large answers. */
  answers: Gate
  /**
   * Building large contexts, reading all facts of a tenant or many lines of its audit log for a report, and indexing and
   * storing the text of a long streaming turn at its end.
   */
  heavy: Gate
  /** Extracting, comparing and recording facts, and writing summaries and profiles. */
  memory: Gate
  /** Deleting conversations with all data that is derived from them. */
  deletions: Gate
  /** Database reads of queries. */
  reads: Gate
  /** Searching scopes that are too large to read completely. A read starts it, so it cannot be heavy work. */
  searches: Gate
}

/** Maximum number of concurrent pieces of most kinds of heavy work per tenant. */
export const HEAVY_CONCURRENCY = 2

/**
 * @param readConnections number of connections for reads; one tenant uses at most half of them beside others, and all
 * but one alone
 * @param activity the active tenants
 */
export function createTenantGates(clock: GateClock, readConnections: number, activity: TenantActivity): TenantGates {
  /** @param alone limit while no other tenant is active @param beside limit while one is */
  const gate = (alone: number, beside: number, options?: GateOptions) =>
    createGate(clock, (tenant) => (activity.hasOthers(tenant) ? beside : alone), {
      pauseAfter: createTenantShare(clock, activity),
      ...options,
    })
  return {
    bodies: gate(HEAVY_CONCURRENCY, 1),
    answers: gate(Infinity, HEAVY_CONCURRENCY, { maxWaiting: MAX_WAITING_ANSWERS }),
    heavy: gate(HEAVY_CONCURRENCY, 1),
    // Most of this work waits for a provider, so one piece at a time would use little of the process.
    memory: gate(HEAVY_CONCURRENCY, HEAVY_CONCURRENCY),
    deletions: gate(HEAVY_CONCURRENCY, 1, { charged: 'elapsed' }),
    reads: gate(Math.max(1, readConnections - 1), Math.max(1, Math.floor(readConnections / 2)), { charged: 'nothing' }),
    searches: gate(HEAVY_CONCURRENCY, 1),
  }
}
