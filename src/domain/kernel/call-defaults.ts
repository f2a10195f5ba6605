// The defaults of calls that omit a value: token budget and strategy of contexts, hits and threshold of recall, and the
// retention of new conversations. A value of the tenant replaces that of the server; a value of the call replaces both.

import type { Retention } from '../../store/generated/enums.ts'

export const STRATEGIES = ['SIMPLE', 'SUMMARIZATION', 'HYBRID'] as const
/** Maximum `tokenBudget` of a context, in tokens. */
export const MAX_TOKENS = 2_000_000
/** Maximum number of hits of one page of recall, and of the turns that a context quotes. */
export const MAX_HITS = 100
/** Number of hits of a page of recall, and of the turns that a context quotes, unless tenant or server set one. */
export const HITS = { recall: 10, context: 5 } as const

export type CallDefaults = {
  tokenBudget: number
  contextStrategy: (typeof STRATEGIES)[number]
  /** Number of hits of recall and of the recall of a context; null for HITS. */
  recallHits: number | null
  /** Minimum relevance of a hit, 0 to 1. */
  recallThreshold: number
  retention: Retention
  /** Seconds from the creation of a conversation to its expiry; null for never. */
  ttlSeconds: number | null
}

/** The defaults of a server that sets none. */
export const BUILT_IN_DEFAULTS: CallDefaults = {
  tokenBudget: 16_000,
  contextStrategy: 'HYBRID',
  recallHits: null,
  recallThreshold: 0,
  retention: 'FULL',
  ttlSeconds: null,
}

/** The defaults that a tenant sets; null for those of the server. */
export type TenantDefaults = { [Name in keyof CallDefaults]: CallDefaults[Name] | null }

/** Returns the defaults that apply to the tenant: its own on top of those of the server. */
export const defaultsInEffect = (server: CallDefaults, tenant: TenantDefaults | null): CallDefaults => ({
  tokenBudget: tenant?.tokenBudget ?? server.tokenBudget,
  contextStrategy: tenant?.contextStrategy ?? server.contextStrategy,
  recallHits: tenant?.recallHits ?? server.recallHits,
  recallThreshold: tenant?.recallThreshold ?? server.recallThreshold,
  retention: tenant?.retention ?? server.retention,
  ttlSeconds: tenant?.ttlSeconds ?? server.ttlSeconds,
})

/** The defaults of the server and of its tenants. */
export type Defaults = {
  readonly server: CallDefaults
  /** Returns the defaults that apply to the tenant; a promise if they must be read, which rejects if the read fails. */
  of(tenant: string): CallDefaults | Promise<CallDefaults>
}
