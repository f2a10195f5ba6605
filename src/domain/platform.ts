// All that the domain may touch. The composition root (src/deps.ts) makes it; nothing here says what with.

import type { Pool } from 'pg'
import type { Bus } from '../bus/bus.ts'
import type { PresenceStore } from '../bus/presence.ts'
import type { Embedder } from '../providers/ports/embedder.ts'
import type { FactServices } from '../providers/create-fact-services.ts'
import type { Summarizers } from '../providers/create-summarizers.ts'
import type { TokenCounter } from '../text/tokens.ts'
import type { Db } from '../store/db.ts'
import type { JobQueue } from '../store/job-queue.ts'
import type { VectorSearch } from '../store/vector-search.ts'
import type { JournalRange } from './publisher.ts'
import type { JournalGrowth } from './journal-growth.ts'
import type { CustomDetector } from '../text/redact.ts'
import type { AutomaticThresholds } from './automatic-thresholds.ts'

/** What one caller may ask for at once. */
export type Limits = {
  /** Bytes of one turn's content, as UTF-8. */
  turnBytes: number
  /** Turns in one appendTurns. */
  batchTurns: number
  /** Items of one page. */
  pageSize: number
}

export type Log = Record<'debug' | 'info' | 'warn' | 'error', (details: object, message: string) => void>

/** The world below the domain. */
export type Platform = {
  /** The one pool. The hot verbs go to it as named statements. */
  pool: Pool
  /** Prisma on that pool, for plain reads and writes. */
  db: Db
  bus: Bus
  presence: PresenceStore
  tokens: TokenCounter
  /** The one that was chosen. Searches use `Deps.embedding.searched()`, which may still be the one before it. */
  embedder: Embedder
  summarizers: Summarizers
  /** What makes facts and profiles. */
  factServices: FactServices
  /** Whether personal data and secrets are taken out of facts before they are kept. */
  redactFacts: boolean
  /** What the operator wants taken out besides. */
  detectors: readonly CustomDetector[]
  /** Where work waits that follows work. */
  jobs: JobQueue
  /** What is done without being asked, and after how many turns. */
  automatic: AutomaticThresholds
  vectors: VectorSearch
  /** Told of every conversation whose journal this process made grow, after the commit: work that follows begins here. */
  onJournalGrowth: (grown: readonly JournalRange[]) => void
  /** Tells of it those that listen. */
  journalGrowth: JournalGrowth
  limits: Limits
  /** A writer of a streaming turn that is silent for this long is taken for dead. */
  streamLeaseMs: number
  /** Presence that nobody renews ends after this long. */
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
