// The settings that createDeps reads.

import type { Config } from './config/config.ts'
import type { CallDefaults } from './domain/kernel/call-defaults.ts'
import type { EngineSettings } from './domain/agent/run/answer/engine.ts'
import type { ChatProviderSettings, GivenProvider } from './providers/chat-registry.ts'
import type { CustomDetector } from './text/redact/redact.ts'

export type DepsConfig = Pick<
  Config,
  | 'databaseUrl'
  | 'databasePoolSize'
  | 'redisUrl'
  | 'embedder'
  | 'summarizer'
  | 'extractor'
  | 'promptsDir'
  | 'redact'
  | 'automatic'
  | 'limits'
  | 'readTimeoutMs'
  | 'rateLimitPoints'
  | 'streamLeaseMs'
  | 'presenceTtlMs'
  | 'logLevel'
>
  & EngineSettings & {
    /** Directory of the embedded database; null for a database in memory. */
    dataDir: string | null
    /** Settings of the reranker. Defaults to none. */
    reranker?: Config['reranker'] | undefined
    /** URL of a streaming replica for recall and contexts. Defaults to none. */
    databaseReadUrl?: string | undefined
    /** URL with the role that owns the tables, for migrations. Defaults to `databaseUrl`. */
    migrationDatabaseUrl?: string | undefined
    /** Number of partitions of a new database, 2 to 64. Defaults to no partitions. */
    databasePartitions?: number | undefined
    /** Visibility of a conversation created without `visibility`. Defaults to OPEN. */
    conversationVisibility?: Config['conversationVisibility']
    /** Where the bytes of attachments are kept, and their limits. Defaults to `files` in `dataDir`, or to memory. */
    files?: Config['files'] | undefined
    /** Defaults of calls that omit a value. Omitted ones are built in (call-defaults.ts). */
    defaults?: Partial<CallDefaults> | undefined
    /** Secret of at least 32 characters; see the variable INTEGRITY_KEY. Defaults to none. */
    integrityKey?: Config['integrityKey']
    /** Days after which lines of the audit log are deleted. Defaults to 400; at least 30. */
    auditDays?: Config['auditDays'] | undefined
    /** Detectors in addition to the built-in ones, wherever text is redacted. Defaults to none. */
    detectors?: readonly CustomDetector[] | undefined
    /** Further detectors, which the variable REDACT_PATTERNS_FILE configures. Defaults to none. */
    redactPatterns?: readonly CustomDetector[] | undefined
    /** Settings of chat providers, by name. Defaults to none. */
    chatProviders?: Readonly<Record<string, ChatProviderSettings>> | undefined
    /** Further chat providers, by name. They replace configured ones. Defaults to none. */
    providers?: Readonly<Record<string, GivenProvider>> | undefined
  }
