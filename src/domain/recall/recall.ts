// Recall: returns the turns, facts and summaries most relevant to a query, from one conversation or several, as the
// viewer sees them. New turns are found by words at once and by vectors as soon as they are embedded.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import { CallFailed } from '../../providers/ports/call-failed.ts'
import { Role } from '../../store/generated/enums.ts'
import {
  readConversationScope,
  readWideScope,
  type ScopeRead,
  type WideScope,
} from '../../store/sql/recall/read-scope.ts'
import type { TurnCandidate } from './candidate.ts'
import type { RecallDeps } from './deps.ts'
import { authorize, requirePermits } from '../authorize.ts'
import { between, id, name, parse, share, text, time } from '../input.ts'
import { metadataFilter } from '../metadata-filter.ts'
import type { Viewer } from '../view.ts'
import { recallFacts } from './facts.ts'
import { readHits, type RecallHit } from './hit.ts'
import type { SearchRequest, GatheredTurns, TurnPlace } from './search.ts'
import { choose, identityOf, KINDS, merge, type MemoryKind, type RankedMemory } from './memory.ts'
import { toTerms } from './query-terms.ts'
import { decodePosition, encodePosition, hitKey, MAX_PAGED_HITS, recallIdentity } from './recall-cursor.ts'
import { recallSummaries } from './summaries.ts'
import { toRanking, type Ranking } from './rank.ts'
import { recallTurns } from './turns.ts'

/** Maximum length of a query, in code points. */
export const MAX_QUERY = 10_000
/** Default and maximum number of hits per page. */
export const DEFAULT_HITS = 10
export const MAX_HITS = 100
/**
 * Minimum number of turns (or facts) taken from each search, by words and by vectors. More do not improve the result.
 */
const MIN_CANDIDATES = 64
/** Maximum number of neighbours on each side of a hit. */
export const MAX_NEIGHBOURS = 10
/** Timeout for embedding a query, in milliseconds. After it, the search uses words only. */
const EMBED_TIMEOUT_MS = 3_000

const SCOPES = ['CONVERSATION', 'OWNER', 'TENANT'] as const
/** Kinds searched by default. */
const DEFAULT_KINDS: readonly MemoryKind[] = ['TURN', 'FACT']

const recallInput = z.object({
  query: text(MAX_QUERY).refine((query) => query.trim() !== '', 'must not be empty'),
  k: between(1, MAX_HITS).nullish(),
  after: z.string().nullish(),
  conversationId: id('conversation').nullish(),
  scope: z.enum(SCOPES).nullish(),
  kinds: z.array(z.enum(KINDS)).nullish(),
  threshold: share.nullish(),
  actors: z.array(name).max(1000).nullish(),
  roles: z.array(z.enum(Role)).nullish(),
  createdAfter: time.nullish(),
  createdBefore: time.nullish(),
  metadata: metadataFilter.nullish(),
  neighbours: between(0, MAX_NEIGHBOURS).nullish(),
  maxTokens: z.int().min(1, 'must be at least 1').nullish(),
})
export type RecallInput = z.input<typeof recallInput>

/** A page of hits. `plan` states how turns and facts were searched by vector, and how many candidates were ranked. */
export type Recall = {
  hits: RecallHit[]
  plan: { vectorSearch: GatheredTurns['vectorSearch']; candidates: number }
  /** Whether another page can be read: false after MAX_PAGED_HITS hits, even if more match. */
  hasNextPage: boolean
  /** Whether the page follows a cursor. */
  hasPreviousPage: boolean
  /** Cursors of the first and the last hit of the page; null if it is empty. */
  startCursor: string | null
  endCursor: string | null
}

type GivenInput = z.output<typeof recallInput>

/** Whether the recall searches more than one conversation. */
const isWide = ({ scope }: RecallInput): boolean => scope != null && scope !== 'CONVERSATION'

/** Returns the conversation whose journal covers all data of the recall; null if other data may be searched. */
export const coveringJournal = (input: RecallInput): string | null =>
  isWide(input) ? null : (input.conversationId ?? null)

/**
 * Returns the `k` (default DEFAULT_HITS) most relevant memories, best first; `kinds` defaults to DEFAULT_KINDS.
 * Superseded, streaming and aborted turns and superseded facts are excluded.
 *
 * `after` continues after the hits of earlier pages, at most MAX_PAGED_HITS in total. No page repeats a hit of an
 * earlier page, even as a newer version of its turn, or skips one; memories written after the first page are excluded.
 *
 * `threshold`: minimum relevance; 0 excludes none. `maxTokens` limits the hits and neighbours of a page together; hits
 * that do not fit are skipped, and are on a later page if they fit there. facts.ts and summaries.ts describe how the
 * other filters apply to facts and summaries.
 * `queryTurn`: the turn that the query was taken from; null for none. It is not searched, because it matches best of
 * all, and scores are relative to the best match. Pass the same turn for every page.
 * `scope`: what conversationScopeRead has just read for the conversation and the serving embedder; null if it was not.
 * @throws InvalidInput @throws NotFound if the viewer sees no conversation with the given id
 * @throws NotAllowed by rights.ts
 */
export async function recall(
  deps: RecallDeps,
  viewer: Viewer,
  input: RecallInput,
  { queryTurn = null, scope = null }: { queryTurn?: TurnPlace | null; scope?: ScopeRead | null } = {},
): Promise<Recall> {
  authorize(viewer, 'recall', { conversationId: isWide(input) ? null : input.conversationId })
  const given = parse(recallInput, input)
  await requirePermits(
    deps.db.of(viewer.tenant),
    viewer,
    'recall',
    given.conversationId ?? null,
    given.scope === 'TENANT' ? ['tenantScope'] : [],
  )
  const identity = recallIdentity([viewer.tenant, viewer.actor, selectionOf(given)])
  const position = given.after == null ? null : decodePosition(identity, given.after)
  const read = position?.read ?? []
  const k = Math.min(given.k ?? DEFAULT_HITS, MAX_PAGED_HITS - read.length)
  const { ranked, vectorSearch, readAt } = await search(deps, viewer, given, {
    writtenBy: position && new Date(position.readAt),
    limit: Math.max(MIN_CANDIDATES, read.length + k + 1),
    queryTurn,
    scopeRead: scope,
  })

  const { chosen, isMore } = choose(
    unreadOf(ranked.hits, read, given.threshold ?? 0),
    k,
    given.neighbours ?? 0,
    given.maxTokens ?? Infinity,
  )
  deps.recalledFacts.add(
    chosen.flatMap(({ hit: { candidate } }) => (candidate.kind === 'FACT' ? [candidate.fact.id] : [])),
  )
  // Hashed only for a cursor that is read.
  const cursorAfter = (hits: number) =>
    encodePosition(identity, {
      readAt: position?.readAt ?? readAt.getTime(),
      read: [...read, ...chosen.slice(0, hits).map(({ hit }) => hitKey(identityOf(hit)))],
    })
  return {
    hits: await readHits(deps, viewer, chosen),
    plan: { vectorSearch, candidates: ranked.count },
    hasNextPage: isMore && read.length + chosen.length < MAX_PAGED_HITS,
    hasPreviousPage: position !== null,
    get startCursor() {
      return chosen.length > 0 ? cursorAfter(1) : null
    },
    get endCursor() {
      return chosen.length > 0 ? cursorAfter(chosen.length) : null
    },
  }
}

/** Yields the hits with at least the minimum relevance that were not read. */
function* unreadOf(hits: Iterable<RankedMemory>, read: readonly number[], threshold: number): Generator<RankedMemory> {
  const isRead = new Set(read)
  for (const hit of hits) {
    if (hit.relevance < threshold) continue
    if (isRead.size === 0 || !isRead.has(hitKey(identityOf(hit)))) yield hit
  }
}

/** Returns the inputs that select or order hits, which are the same for all pages of a recall. */
function selectionOf({ k: _, after: __, neighbours: ___, maxTokens: ____, ...selection }: GivenInput) {
  const { scope, kinds, threshold, ...filter } = selection
  const given = Object.entries(filter).filter(([, value]) => value != null)
  const searched = new Set(kinds ?? DEFAULT_KINDS)
  return [scope ?? 'CONVERSATION', KINDS.filter((kind) => searched.has(kind)), threshold ?? 0, given]
}

/**
 * Searches and ranks memories of the requested kinds, best first. `readAt` is the database's time before the search.
 * @param limit see SearchRequest @param queryTurn see SearchRequest
 * @param writtenBy excludes memories that were written later; null excludes none
 */
async function search(
  deps: RecallDeps,
  viewer: Viewer,
  given: GivenInput,
  {
    limit,
    writtenBy,
    queryTurn,
    scopeRead,
  }: { limit: number; writtenBy: Date | null; queryTurn: TurnPlace | null; scopeRead: ScopeRead | null },
): Promise<{ ranked: Ranking<RankedMemory['candidate']>; vectorSearch: GatheredTurns['vectorSearch']; readAt: Date }> {
  const { query } = given
  const scope = given.scope ?? 'CONVERSATION'
  const conversationId = given.conversationId ?? null
  if (scope === 'CONVERSATION' && conversationId === null) {
    throw InvalidInput.at('conversationId', 'is required for scope CONVERSATION; or set scope to OWNER or TENANT')
  }
  const kinds = new Set(given.kinds ?? DEFAULT_KINDS)
  const [{ conversations, readAt }, vector] = await Promise.all([
    scopeRead ?? findConversations(deps, viewer, scope, conversationId),
    kinds.has('TURN') || kinds.has('FACT') ? embedQuery(deps, query) : null,
  ])
  // Skip the fact search if the conversation has no facts. The other scopes also contain facts without a conversation.
  const searchesFacts =
    kinds.has('FACT') && (scope !== 'CONVERSATION' || conversations.some(({ hasFacts }) => hasFacts))
  const { actors, roles, createdAfter: since, createdBefore: until, metadata } = given
  const request: SearchRequest = {
    terms: toTerms(query),
    vector,
    limit,
    filter: { actors, roles, since, until, metadata, writtenBy },
    queryTurn,
  }
  if (request.terms.size === 0 && vector === null) return { ranked: toRanking([]), vectorSearch: 'NONE', readAt }
  const [turns, facts, summaries] = await Promise.all([
    kinds.has('TURN')
      ? recallTurns(deps, viewer, conversations, query, request)
      : { found: toRanking<TurnCandidate>([]), vectorSearch: 'NONE' as const },
    searchesFacts ? recallFacts(deps, viewer, { scope, conversationId }, query, request) : [],
    kinds.has('SUMMARY') ? recallSummaries(deps, viewer, conversations, query, request) : [],
  ])
  // The vectors of facts are always searched exactly.
  const vectorSearch = turns.vectorSearch === 'NONE' && searchesFacts && vector ? 'EXACT' : turns.vectorSearch
  return { ranked: merge(turns.found, toRanking(facts), toRanking(summaries)), vectorSearch, readAt }
}

/** Returns the conversations in scope. @throws NotFound if the viewer sees no conversation with the given id */
async function findConversations(
  { pool, embedding }: RecallDeps,
  viewer: Viewer,
  scope: (typeof SCOPES)[number],
  conversationId: string | null,
): Promise<ScopeRead> {
  const embedder = embedding.serving().name
  if (conversationId === null) return readWideScope(pool, viewer, scope as WideScope, null, embedder)
  const found = await readConversationScope(pool, viewer, conversationId, embedder)
  if (found.conversations.length === 0) throw new NotFound('conversation', conversationId)
  return scope === 'CONVERSATION' ? found : readWideScope(pool, viewer, scope, conversationId, embedder)
}

/** Embeds the query. Null if its vector is all zeros or the embedder fails: the search then uses words only. */
async function embedQuery(deps: RecallDeps, text: string): Promise<SearchRequest['vector']> {
  const embedder = deps.embedding.serving()
  try {
    const [query] = await embedder.embed([text], AbortSignal.timeout(EMBED_TIMEOUT_MS))
    return query!.every((component) => component === 0) ? null : { embedder: embedder.name, query: query! }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    deps.log.warn({ err, embedder: embedder.name }, 'could not embed a query; searching by its words only')
    return null
  }
}
