// The dependencies of the domain: ports, stores and settings. The composition root (src/deps.ts) chooses the adapters.

import type { Clock } from '../../runtime/clock.ts'
import type { ByteBudget } from './limits/byte-budget.ts'
import type { Pool } from '../../store/db/tenant-pool.ts'
import type { Bus } from '../../bus/bus.ts'
import type { PresenceStore } from '../../bus/presence.ts'
import type { RateLimit } from '../../bus/rate-limit.ts'
import type { Embedder } from '../../providers/ports/embedder.ts'
import type { Reranking } from '../../providers/ports/reranker.ts'
import type { FactServices } from '../../providers/ports/fact-services.ts'
import type { Providers } from '../../providers/ports/chat-providers.ts'
import type { Summarizers } from '../../providers/ports/summarizer.ts'
import type { TokenCounter } from '../../text/tokens.ts'
import type { Db } from '../../store/db/db.ts'
import type { ConversationVisibility } from '../../store/generated/enums.ts'
import type { Replica } from '../../store/scaling/replica.ts'
import type { Moment } from '../../store/db/scope.ts'
import type { JobQueue } from '../../store/jobs/job-queue.ts'
import type { VectorSearch } from '../../store/vectors/vector-search.ts'
import type { RedactionModes } from './redaction.ts'
import type { Defaults } from './call-defaults.ts'
import type { AuditLog } from './audit/audit-log.ts'
import type { IntegrityKeys } from './audit/integrity.ts'
import type { Connections } from './live/connections.ts'
import type { NotifyWorkers } from './live/publisher.ts'
import type { Writers } from './live/writers.ts'
import type { JournalNotifier } from './live/journal-notifier.ts'
import type { KnownActors } from './rights/known-actor.ts'
import type { TenantActivity } from './limits/tenant-activity.ts'
import type { TenantGates } from './limits/tenant-gates.ts'
import type { QueueDelays } from '../../runtime/queue-delay.ts'
import type { CustomDetector } from '../../text/redact/redact.ts'
import type { AutomaticThresholds } from './automatic-thresholds.ts'

/** Configured limits of each call. */
export type Limits = {
  /** Maximum size of one turn's content, in UTF-8 bytes. */
  turnBytes: number
  /** Maximum number of turns in one call of appendTurns. */
  batchTurns: number
  /** Maximum number of items of one page. */
  pageSize: number
}

export type Log = Record<'debug' | 'info' | 'warn' | 'error', (details: object, message: string) => void>

export type Platform = {
  clock: Clock
  /** Connections for writes and background work. Appends and deltas have their own pool (store/db/connections.ts). */
  pool: Pool
  /** Prisma on the same pool. */
  db: Db
  /** The moment as of which `pool` and `db` read (past/as-of.ts); null for the present. */
  moment: Moment | null
  /** Connections for the reads of requests. On Postgres, `timeoutMs` limits each of their statements. */
  reads: {
    pool: Pool
    db: Db
    timeoutMs: number
    /** Whether a statement failed with this error because it exceeded `timeoutMs`. */
    isTimeout(error: unknown): boolean
  }
  /** A streaming replica, for reads through `onReplica` (replica.ts); null without one. */
  replica: Replica | null
  gates: TenantGates
  /** The memory for large answers, until they are written to their connections. */
  answers: ByteBudget
  /** The tenants that have used this process recently. */
  activity: TenantActivity
  /** Measures how long requests wait in the queues of this process. */
  delays: QueueDelays
  knownActors: KnownActors
  bus: Bus
  presence: PresenceStore
  /** The open connections of actors to this process. */
  connections: Connections
  writers: Writers
  /** Limits the operations of each viewer; null without a limit. */
  rates: RateLimit | null
  tokens: TokenCounter
  /** The configured embedder. Searches use `Deps.embedding.serving()`, which may still be the previous embedder. */
  embedder: Embedder
  /** Scores the best hits of recall once more; null without a reranker. */
  reranking: Reranking | null
  summarizers: Summarizers
  /** The chat providers that runs choose by name. */
  providers: Providers
  /** The providers that extract and judge facts and write profiles. */
  factServices: FactServices
  /** The redaction mode of each tenant, which determines the texts that are redacted before they are stored. */
  redaction: RedactionModes
  /** The defaults of calls, by tenant. */
  defaults: Defaults
  /** Detectors for redaction, in addition to the built-in ones. */
  detectors: readonly CustomDetector[]
  jobs: JobQueue
  audit: AuditLog
  /** Keys for receipts, the audit log and content hashes; null if the operator sets none. */
  integrityKeys: IntegrityKeys | null
  /** Number of days after which lines of the audit log are deleted. */
  auditDays: number
  automatic: AutomaticThresholds
  vectors: VectorSearch
  /** Wakes this process's workers. `announceEntries` calls it; call it directly after a commit without entries. */
  notifyWorkers: NotifyWorkers
  /** Passes the calls of `notifyWorkers` on to the background jobs. */
  journalNotifier: JournalNotifier
  limits: Limits
  /** Visibility of a conversation that is created without `visibility`. */
  conversationVisibility: ConversationVisibility
  /** Lease of a streaming turn for which none was given, in ms: a turn that gets no delta for longer is aborted. */
  streamLeaseMs: number
  /** Milliseconds after which presence expires unless it is renewed. */
  presenceTtlMs: number
  log: Log
}

/** Health checks of a server's dependencies, for /ready. */
export type Health = {
  /** Rejects if the database does not reply. */
  database(): Promise<unknown>
  /** Rejects if the bus does not reply. */
  bus(): Promise<unknown>
  /** A sentence that names the failures that acknowledged writes survive. */
  durability: string
}
