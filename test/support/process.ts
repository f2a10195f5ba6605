// Simulated server processes without transport, any number of them on one database. A test can drop or delay the bus
// messages to a process, and can crash it, which discards its feeds, inboxes and queued deltas.

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import type { Bus } from '../../src/bus/bus.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { createDeps, type DepsConfig } from '../../src/deps.ts'
import type { Deps } from '../../src/domain/deps.ts'
import type { ConversationMessage, TenantMessage } from '../../src/domain/kernel/live/publisher.ts'
import { createFeeds } from '../../src/domain/turn/journal/feeds.ts'
import { createInboxes } from '../../src/domain/turn/journal/inboxes.ts'
import { createDeltas } from '../../src/domain/turn/streaming/held-deltas.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { ABSENT_WRITERS } from './absent-writers.ts'
import { newWorldDir, type Backend } from './backend.ts'
import { checkGateOrder } from './gate-order.ts'
import { OFFLINE } from './offline.ts'

/** Controls the delivery of bus messages to one process. */
export type Wire = {
  /** Drops the messages for which the function returns true. */
  drop: (message: ConversationMessage | TenantMessage, topic: string) => boolean
  /** Queues the messages until `release` delivers them in order. */
  queue(): void
  release(): void
  /** Number of queued messages. */
  readonly waiting: number
  /** Calls the process's onRestored callbacks, as after an outage of the bus. */
  restore(): void
}

export type Process = {
  /** Dependencies of the process; replaced by `crash`. */
  deps: Deps
  wire: Wire
  /** Closes the feeds of the process, so that its readers receive no more events, and discards its in-memory state. */
  crash(): Promise<void>
}

export type Site = {
  /** Starts another process. On the embedded database all processes share one connection pool and one bus. */
  start(settings?: { streamLeaseMs?: number; turnBytes?: number; presentWriters?: boolean }): Promise<Process>
  close(): Promise<void>
}

const LIMITS = { turnBytes: 262_144, batchTurns: 1000, pageSize: 200, bodyBytes: 2 ** 24, frameBytes: 2 ** 20 }

/** Returns the viewer of an actor in a new tenant. */
export const newViewer = (actor = 'ada'): Viewer => ({ tenant: `t-${randomBytes(8).toString('hex')}`, actor })

/**
 * Creates a database on the backend, on which `start` starts processes. `settings` override the defaults below.
 * @param options.clock the clock of all processes; the system's clock by default
 */
export async function openSite(
  backend: Backend,
  settings: Partial<DepsConfig> = {},
  { clock }: { clock?: Clock } = {},
): Promise<Site> {
  const log = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' })
  const undo: (() => Promise<unknown>)[] = []
  let storage: Pick<DepsConfig, 'dataDir' | 'databaseUrl' | 'redisUrl'>
  if (backend.name === 'embedded') {
    const dataDir = await newWorldDir()
    undo.push(() => rm(dataDir, { recursive: true }))
    storage = { dataDir, databaseUrl: undefined, redisUrl: undefined }
  } else {
    const { url, redisUrl, close } = await backend.open()
    undo.push(close)
    storage = { dataDir: null, databaseUrl: url, redisUrl }
  }
  let shared: Deps | null = null

  return {
    async start({ streamLeaseMs = 30_000, turnBytes = LIMITS.turnBytes, presentWriters = false } = {}) {
      const limits = { ...LIMITS, turnBytes }
      if (!shared || backend.name !== 'embedded') {
        const world = await createDeps(
          {
            ...storage,
            ...OFFLINE,
            databasePoolSize: 8,
            readTimeoutMs: 10_000,
            limits,
            streamLeaseMs,
            presenceTtlMs: 60_000,
            rateLimitPoints: 0,
            logLevel: 'silent',
            ...settings,
          },
          log,
          { clock },
        )
        undo.push(() => world.close())
        checkGateOrder(world.deps.gates)
        shared = world.deps
      }
      const writers = presentWriters ? shared.writers : ABSENT_WRITERS
      const deps: Deps = { ...shared, bus: { ...shared.bus }, limits, streamLeaseMs, writers }
      const wire = interceptBus(deps.bus)
      const started: Process = {
        deps: startedDeps(deps),
        wire,
        async crash() {
          const { feeds } = started.deps
          started.deps = startedDeps(deps)
          await feeds.close()
        },
      }
      undo.push(() => started.deps.feeds.close())
      return started
    },
    async close() {
      for (const step of undo.splice(0).reverse()) await step()
    },
  }
}

/** Returns the dependencies of a process that has just started: no conversations in memory, and no queued deltas. */
function startedDeps(deps: Deps): Deps {
  return { ...deps, feeds: createFeeds(deps), inboxes: createInboxes(deps), deltas: createDeltas(deps, deps.pool) }
}

/** Delivers the messages of all later subscriptions through the returned wire. */
function interceptBus(bus: Bus): Wire {
  const { subscribe, onRestored } = bus
  const restored = new Set<() => void>()
  let queued: (() => void)[] | null = null
  const wire: Wire = {
    drop: () => false,
    queue() {
      queued ??= []
    },
    release() {
      const waiting = queued ?? []
      queued = null
      for (const deliver of waiting) deliver()
    },
    get waiting() {
      return queued?.length ?? 0
    },
    restore() {
      for (const callback of [...restored]) callback()
    },
  }
  bus.subscribe = (topic, receive) =>
    subscribe(topic, (message) => {
      if (wire.drop(JSON.parse(message) as ConversationMessage | TenantMessage, topic)) return
      if (queued) queued.push(() => receive(message))
      else receive(message)
    })
  bus.onRestored = (callback) => {
    const stop = onRestored(callback)
    restored.add(callback)
    return () => {
      restored.delete(callback)
      stop()
    }
  }
  return wire
}
