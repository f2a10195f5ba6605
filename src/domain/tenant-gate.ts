// Limits the concurrent work of each tenant, so that no tenant exhausts the resources that all tenants share: database
// connections, CPU and memory. Work beyond the limit waits in order of arrival; other tenants do not wait for it. While
// other tenants are active, the limit of heavy work is lower, and it pauses (tenant-share.ts).

import { performance } from 'node:perf_hooks'
import type { Clock } from '../clock.ts'
import { QueueFull } from '../errors.ts'
import { QueueDelay, type DelaySource } from '../queue-delay.ts'
import type { TenantActivity } from './tenant-activity.ts'
import { createTenantShare, type TenantShare } from './tenant-share.ts'

/**
 * Maximum number of waiting pieces of work of one kind per tenant. It allows for as many open sockets, because one
 * event may be rendered for each of them.
 */
export const MAX_WAITING = 10_000
/** Maximum number of waiting queries with large answers per tenant. They would wait longer than clients do. */
export const MAX_WAITING_ANSWERS = 100

/**
 * The work of one tenant.
 * @property running number of running pieces, and of pieces that have ended but whose pause has not
 * @property waiting the `resolve` function of each waiting piece
 * @property delay the waits, once a piece has waited
 * @property pausedUntil end of the last pause, as `performance.now()`
 */
type TenantWork = { running: number; waiting: (() => void)[]; delay: QueueDelay | null; pausedUntil: number }

/**
 * As a DelaySource, it returns the longest delay of any tenant that did not pause in the period: waiting for a pause
 * does not mean that the process is overloaded.
 */
export type TenantGate = DelaySource & {
  /** Number of waiting pieces of work of all tenants. */
  readonly waiting: number
  /**
   * Runs the work as soon as the tenant's limit allows. The work may charge the tenant for processor time in addition
   * to what the gate charges, in ms. @throws QueueFull if too many pieces of work wait
   */
  run<T>(tenant: string, work: (charge: (ms: number) => void) => Promise<T> | T): Promise<T>
}

/**
 * `activity`: the time for which the event loop was active during the work. It excludes the time for which the work
 * waited for a provider, but includes concurrent work, so it suits gates that admit few pieces of work at once.
 * `elapsed`: the whole time of the work, for work that the database does.
 */
type Charged = 'activity' | 'elapsed' | 'nothing'

type GateClock = Pick<Clock, 'setTimeout' | 'performance'>

type GateOptions = {
  /** Determines the pauses after the work; absent for none. */
  share?: TenantShare
  /** What the gate charges the tenant for, in addition to what the work charges itself. `activity` by default. */
  charged?: Charged
  maxWaiting?: number
}

/**
 * The gates of one process, by kind of work. To avoid deadlocks, work may only start work of kinds listed below it. In
 * tests, work that breaks this rule fails (test/support/gate-order.ts).
 */
export type TenantGates = {
  /** Parsing and answering requests with the largest bodies; one at a time, because they use the most memory. */
  batches: TenantGate
  /** Parsing and answering requests with a large body. */
  bodies: TenantGate
  /** Indexing and storing the text of a long streaming turn at its end. */
  texts: TenantGate
  /** Executing queries with large answers. */
  answers: TenantGate
  /** Building large contexts. */
  contexts: TenantGate
  /** Reading all facts of a tenant, or many lines of its audit log, for a report. */
  audits: TenantGate
  /** Extracting, comparing and recording facts, and writing summaries and profiles. */
  memory: TenantGate
  /** Deleting conversations with all data that is derived from them. */
  deletions: TenantGate
  /** Database reads of queries. */
  reads: TenantGate
  /** Searching scopes that are too large to read completely. */
  searches: TenantGate
}

/** Maximum number of concurrent pieces of most kinds of heavy work per tenant. */
const HEAVY_CONCURRENCY = 2

/**
 * @param readConnections number of connections for reads; one tenant uses at most half of them beside others, and all
 * but one alone
 * @param activity the active tenants
 */
export function createTenantGates(clock: GateClock, readConnections: number, activity: TenantActivity): TenantGates {
  /** @param alone limit while no other tenant is active @param beside limit while one is */
  const heavy = (alone: number, beside: number, options?: GateOptions) =>
    createTenantGate(clock, (tenant) => (activity.hasOthers(tenant) ? beside : alone), {
      share: createTenantShare(clock, activity),
      ...options,
    })
  return {
    batches: heavy(1, 1),
    bodies: heavy(HEAVY_CONCURRENCY, 1),
    texts: heavy(HEAVY_CONCURRENCY, 1),
    answers: heavy(Infinity, HEAVY_CONCURRENCY, { maxWaiting: MAX_WAITING_ANSWERS }),
    contexts: heavy(HEAVY_CONCURRENCY, 1),
    audits: heavy(HEAVY_CONCURRENCY, 1),
    // Most of this work waits for a provider, so one piece at a time would use little of the process.
    memory: heavy(HEAVY_CONCURRENCY, HEAVY_CONCURRENCY),
    deletions: heavy(HEAVY_CONCURRENCY, 1, { charged: 'elapsed' }),
    reads: createTenantGate(
      clock,
      (tenant) => Math.max(1, activity.hasOthers(tenant) ? Math.floor(readConnections / 2) : readConnections - 1),
      { share: createTenantShare(clock, activity), charged: 'nothing' },
    ),
    searches: heavy(HEAVY_CONCURRENCY, 1),
  }
}

/** Starts to measure what a gate charges. The returned function returns the time since then, ms. */
const stopwatches: Record<Charged, (clock: GateClock) => () => number> = {
  activity: () => {
    const before = performance.eventLoopUtilization()
    return () => performance.eventLoopUtilization(before).active
  },
  elapsed: (clock) => {
    const startedAt = clock.performance.now()
    return () => clock.performance.now() - startedAt
  },
  nothing: () => () => 0,
}

/** @param limitOf returns the current maximum number of concurrent pieces of a tenant's work, at least 1 */
export function createTenantGate(
  clock: GateClock,
  limitOf: (tenant: string) => number,
  { share, charged = 'activity', maxWaiting = MAX_WAITING }: GateOptions = {},
): TenantGate {
  const workByTenant = new Map<string, TenantWork>()
  /** Time of the last call of `take`. */
  let takenAt = 0

  function leave(tenant: string, current: TenantWork): void {
    current.running -= 1
    if (current.running === 0 && current.waiting.length === 0) return void workByTenant.delete(tenant)
    const limit = limitOf(tenant)
    // The limit may have grown, so several pieces may start.
    while (current.waiting.length > 0 && current.running < limit) {
      current.running += 1
      current.waiting.shift()!()
    }
  }

  /** Lets the next work start after the pause. @param ms what the tenant is charged for the work that has ended */
  function end(tenant: string, current: TenantWork, ms: number): void {
    const pause = share ? share.charge(tenant, ms) : 0
    if (pause > 0) {
      current.pausedUntil = Math.max(current.pausedUntil, clock.performance.now() + pause)
      clock.setTimeout(leave, pause, tenant, current)
    } else leave(tenant, current)
  }

  return {
    get waiting() {
      return [...workByTenant.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
    },
    take(now) {
      let longest = 0
      for (const current of workByTenant.values()) {
        const delay = current.delay?.take(now) ?? 0
        if (current.pausedUntil <= takenAt) longest = Math.max(longest, delay)
      }
      takenAt = now
      return longest
    },
    async run(tenant, work) {
      let current = workByTenant.get(tenant)
      if (!current) workByTenant.set(tenant, (current = { running: 0, waiting: [], delay: null, pausedUntil: 0 }))
      const entered = current
      if (entered.waiting.length === 0 && entered.running < limitOf(tenant)) {
        entered.running += 1
        entered.delay?.record(0)
      } else if (entered.waiting.length >= maxWaiting) throw new QueueFull(maxWaiting)
      else {
        const delay = (entered.delay ??= new QueueDelay(clock))
        const enteredAt = delay.enter()
        await new Promise<void>((resolve) => entered.waiting.push(resolve))
        delay.leave(enteredAt)
      }
      const measured = share ? stopwatches[charged](clock) : stopwatches.nothing(clock)
      let chargedByWork = 0
      try {
        return await work((ms) => {
          chargedByWork += ms
        })
      } finally {
        end(tenant, entered, chargedByWork + measured())
      }
    },
  }
}
