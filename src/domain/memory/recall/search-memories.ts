// Searches turns, facts and summaries, and merges them into one ranking.

import { InvalidInput, NotFound } from '../../../errors.ts'
import type { Role } from '../../../store/generated/enums.ts'
import {
  readConversationScope,
  readWideScope,
  type ScopeConversation,
  type ScopeRead,
  type WideScope,
} from '../../../store/sql/memory/recall/scope.ts'
import type { SearchFilter } from '../../../store/vectors/vector-search.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { TurnCandidate } from './rank/features.ts'
import type { RecallDeps } from './deps.ts'
import { recallFacts } from './facts.ts'
import { merge, type MemoryKind, type RankedMemory } from './memory.ts'
import { toTerms, embedQuery } from './search/query.ts'
import { toRanking, type Ranking } from './rank/rank.ts'
import { rankTurns } from './rank/rank-turns.ts'
import type { GatheredTurns, RecallRequest, TurnPlace } from './search/request.ts'
import { gather } from './search/turns.ts'
import { recallSummaries } from './summaries.ts'

export const SCOPES = ['CONVERSATION', 'OWNER', 'TENANT'] as const
type Scope = (typeof SCOPES)[number]
/** Kinds searched by default. */
export const DEFAULT_KINDS: readonly MemoryKind[] = ['TURN', 'FACT']

/** The query, the scope, which defaults to CONVERSATION, the kinds, which default to DEFAULT_KINDS, and filters. */
export type MemorySearch = {
  query: string
  conversationId?: string | null | undefined
  scope?: Scope | null | undefined
  kinds?: readonly MemoryKind[] | null | undefined
  actors?: string[] | null | undefined
  roles?: Role[] | null | undefined
  createdAfter?: Date | null | undefined
  createdBefore?: Date | null | undefined
  metadata?: SearchFilter['metadata']
}

export type Searched = {
  ranked: Ranking<RankedMemory['candidate']>
  vectorSearch: GatheredTurns['vectorSearch']
  /** The database's time before the search. */
  readAt: Date
}

/**
 * Searches and ranks memories of the requested kinds.
 * @param limit see SearchRequest @param queryTurn see SearchRequest
 * @param writtenBy excludes memories that were written later; null excludes none
 */
export async function searchMemories(
  deps: RecallDeps,
  viewer: Viewer,
  given: MemorySearch,
  {
    limit,
    writtenBy,
    queryTurn,
    scopeRead,
  }: { limit: number; writtenBy: Date | null; queryTurn: TurnPlace | null; scopeRead: ScopeRead | null },
): Promise<Searched> {
  const { query } = given
  const scope = given.scope ?? 'CONVERSATION'
  const conversationId = given.conversationId ?? null
  if (scope === 'CONVERSATION' && conversationId === null) {
    throw InvalidInput.at('conversationId', 'is required for scope CONVERSATION; or set scope to OWNER or TENANT')
  }
  const kinds = new Set(given.kinds ?? DEFAULT_KINDS)
  const [{ conversations, readAt }, vector] = await Promise.all([
    scopeRead ?? findConversations(deps, viewer, { scope, conversationId }),
    kinds.has('TURN') || kinds.has('FACT') ? embedQuery(deps, query) : null,
  ])
  // Skip the search for facts if the conversation has none. Other scopes also contain facts without a conversation.
  const searchesFacts =
    kinds.has('FACT') && (scope !== 'CONVERSATION' || conversations.some(({ hasFacts }) => hasFacts))
  const { actors, roles, createdAfter: since, createdBefore: until, metadata } = given
  const request: RecallRequest = {
    query,
    terms: toTerms(query, new deps.clock.Date()),
    vector,
    limit,
    filter: { actors, roles, since, until, metadata, writtenBy },
    queryTurn,
  }
  if (request.terms.size === 0 && vector === null) return { ranked: toRanking([]), vectorSearch: 'NONE', readAt }
  const [turns, facts, summaries] = await Promise.all([
    kinds.has('TURN')
      ? recallTurns(deps, viewer, conversations, request)
      : { found: toRanking<TurnCandidate>([]), vectorSearch: 'NONE' as const },
    searchesFacts ? recallFacts(deps, viewer, { scope, conversationId }, request) : [],
    kinds.has('SUMMARY') ? recallSummaries(deps, viewer, conversations, request) : [],
  ])
  // The vectors of facts are always searched exactly.
  const vectorSearch = turns.vectorSearch === 'NONE' && searchesFacts && vector ? 'EXACT' : turns.vectorSearch
  return { ranked: merge(turns.found, toRanking(facts), toRanking(summaries)), vectorSearch, readAt }
}

/** Returns the ranked turns, and the method of the vector search. @internal Exported for benchmarks. */
export async function recallTurns(
  deps: RecallDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  request: RecallRequest,
): Promise<{ found: Ranking<TurnCandidate>; vectorSearch: GatheredTurns['vectorSearch'] }> {
  if (conversations.length === 0) return { found: toRanking([]), vectorSearch: 'NONE' }
  const gathered = await gather(deps, viewer, { conversations }, request)
  return { found: rankTurns(request.query, gathered, new deps.clock.Date()), vectorSearch: gathered.vectorSearch }
}

/** Returns the conversations in scope. @throws NotFound if the viewer sees no conversation with the given id */
async function findConversations(
  { pool, embedding, scopes }: RecallDeps,
  viewer: Viewer,
  { scope, conversationId }: { scope: Scope; conversationId: string | null },
): Promise<ScopeRead> {
  const embedder = embedding.serving().name
  if (conversationId === null)
    return readWideScope(pool, viewer, { scope: scope as WideScope, conversationId }, embedder)
  const found = await readConversationScope(pool, viewer, conversationId, embedder)
  const [conversation] = found.conversations
  if (!conversation) throw new NotFound('conversation', conversationId)
  if (scope === 'CONVERSATION') scopes.remember(viewer, embedder, conversation)
  return scope === 'CONVERSATION' ? found : readWideScope(pool, viewer, { scope, conversationId }, embedder)
}
