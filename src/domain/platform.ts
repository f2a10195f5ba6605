// All that the domain may touch. The composition root (src/deps.ts) makes it; nothing here says what with.

import type { Pool } from 'pg'
import type { Bus } from '../bus/bus.ts'
import type { PresenceStore } from '../bus/presence.ts'
import type { Embedder } from '../providers/ports/embedder.ts'
import type { Knowledge } from '../providers/create-knowledge.ts'
import type { Summarizers } from '../providers/create-summarizers.ts'
import type { TokenCounter } from '../text/tokens.ts'
import type { Db } from '../store/db.ts'
import type { JobQueue } from '../store/job-queue.ts'
import type { VectorSearch } from '../store/vector-search.ts'
import type { Growth } from './publisher.ts'
import type { Growths } from './journal-growth.ts'
import type { Feeds } from './event/feed.ts'
import type { Inboxes } from './event/inbox.ts'
import type { FactEmbedding } from './fact/embed.ts'
import type { RecalledFacts } from './fact/recalled.ts'
import type { CustomDetector } from '../text/redact.ts'
import type { Automatic } from './automatic-thresholds.ts'
import type { Embedding } from './indexing/embedding.ts'
import type { DeltaQueue } from './streaming-turn/delta-queue.ts'
import type { AppendQueue } from './turn/append-queue.ts'

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
export type Ground = {
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
  knowledge: Knowledge
  /** Whether personal data and secrets are taken out of facts before they are kept. */
  redactFacts: boolean
  /** What the operator wants taken out besides. */
  detectors: readonly CustomDetector[]
  /** Where work waits that follows work. */
  jobs: JobQueue
  /** What is done without being asked, and after how many turns. */
  automatic: Automatic
  vectors: VectorSearch
  /** Told of every room whose journal this process made grow, after the commit: work that follows begins here. */
  onGrowth: (grown: readonly Growth[]) => void
  /** Tells of it those that listen. */
  growths: Growths
  limits: Limits
  /** A writer of a streaming turn that is silent for this long is taken for dead. */
  streamLeaseMs: number
  /** Presence that nobody renews ends after this long. */
  presenceTtlMs: number
  log: Log
}

/** With the domain's own state in this process. */
export type Deps = Ground & {
  appends: AppendQueue
  deltas: DeltaQueue
  feeds: Feeds
  inboxes: Inboxes
  embedding: Embedding
  factEmbedding: FactEmbedding
  recalledFacts: RecalledFacts
}
