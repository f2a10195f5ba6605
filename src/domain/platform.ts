// What the domain stands on: ports, stores and settings. The composition root (src/deps.ts) chooses the adapters.

import type { Pool } from 'pg'
import type { Bus } from '../bus/bus.ts'
import type { PresenceStore } from '../bus/presence.ts'
import type { Embedder } from '../providers/ports/embedder.ts'
import type { FactServices } from '../providers/ports/fact-services.ts'
import type { Summarizers } from '../providers/ports/summarizer.ts'
import type { TokenCounter } from '../text/tokens.ts'
import type { Db } from '../store/db.ts'
import type { JobQueue } from '../store/job-queue.ts'
import type { VectorSearch } from '../store/vector-search.ts'
import type { JournalRange } from './publisher.ts'
import type { JournalGrowth } from './journal-growth.ts'
import type { CustomDetector } from '../text/redact.ts'
import type { AutomaticThresholds } from './automatic-thresholds.ts'

/** Limits of one call. */
export type Limits = {
  /** UTF-8 bytes of one turn's content at most. */
  turnBytes: number
  /** Turns in one appendTurns at most. */
  batchTurns: number
  /** Items of one page at most. */
  pageSize: number
}

export type Log = Record<'debug' | 'info' | 'warn' | 'error', (details: object, message: string) => void>

export type Platform = {
  /** The shared connection pool; hot verbs use it with named statements. */
  pool: Pool
  /** Prisma on the same pool. */
  db: Db
  bus: Bus
  presence: PresenceStore
  tokens: TokenCounter
  /** The configured embedder. Searches use `Deps.embedding.searched()`, which may still be the previous one. */
  embedder: Embedder
  summarizers: Summarizers
  /** The providers that extract and judge facts and write profiles. */
  factServices: FactServices
  /** Whether facts are redacted before they are stored. */
  redactFacts: boolean
  /** Detectors for redaction, in addition to the built-in ones. */
  detectors: readonly CustomDetector[]
  /** The job queue. */
  jobs: JobQueue
  /** Thresholds of automatic work. */
  automatic: AutomaticThresholds
  vectors: VectorSearch
  /** Called after the commit with every journal range that this process has written; starts the work that follows. */
  onJournalGrowth: (grown: readonly JournalRange[]) => void
  /** Notifies this process's workers of new journal entries. */
  journalGrowth: JournalGrowth
  limits: Limits
  /** Lease of a streaming turn's writer, ms: a turn without a delta for longer is aborted. */
  streamLeaseMs: number
  /** Lifetime of presence that is not renewed, ms. */
  presenceTtlMs: number
  log: Log
}

/** Checks of what a server depends on, for its /ready endpoint. */
export type Health = {
  /** Rejects when the database does not answer. */
  database(): Promise<unknown>
  /** Rejects when the bus does not answer. */
  bus(): Promise<unknown>
  /** Which failures an acknowledged write survives, as a sentence. */
  durability: string
}
