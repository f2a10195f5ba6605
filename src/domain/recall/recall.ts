// Recalls the turns, facts and summaries that are most relevant to a query, from one conversation or several, as the
// viewer sees them. Finds new turns by words immediately, and by vectors after they are embedded.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import { Role } from '../../store/generated/enums.ts'
import {
  conversationScopeRead,
  readConversationScope,
  readWideScope,
  type ScopeConversation,
  type ScopeRead,
  type WideScope,
} from '../../store/sql/recall/read-scope.ts'
import type { TurnCandidate } from './candidate.ts'
import type { RecallDeps } from './deps.ts'
import { authorize, requirePermits } from '../authorize.ts'
import { HITS, MAX_HITS } from '../call-defaults.ts'
import { between, id, name, parse, share, text, time } from '../input.ts'
import { metadataFilter } from '../metadata-filter.ts'
import type { Viewer } from '../view.ts'
import { embedQuery } from './embed-query.ts'
import { recallFacts } from './facts.ts'
import { isSearchedWhole } from './gather.ts'
import { hitsOf, turnsOfHitsRead, type RecallHit } from './hit.ts'
import { isSameScope } from './scope-guesses.ts'
import type { Turn } from '../turn/turn.ts'
import { readAll } from '../../store/read.ts'
import type { SearchRequest, GatheredTurns, TurnPlace } from './search.ts'
import { choose, identityOf, KINDS, merge, type MemoryKind, type RankedMemory } from './memory.ts'
import { toTerms } from './query-terms.ts'
import { decodePosition, encodePosition, hitKey, MAX_PAGED_HITS, recallIdentity } from './recall-cursor.ts'
import { recallSummaries } from './summaries.ts'
import { toRanking, type Ranking } from './rank.ts'
import { recallTurns } from './turns.ts'

/** Maximum length of a query, in code points. */
export const MAX_QUERY = 10_000
/** Minimum of `limit` in SearchRequest. A higher minimum does not improve the hits. */
const MIN_CANDIDATES = 64
/** Maximum number of neighbours on each side of a hit. */
export const MAX_NEIGHBOURS = 10

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

/** A page of hits. `plan` contains the method of the vector search, and the number of candidates that were ranked. */
export type Recall = {
  hits: RecallHit[]
  plan: { vectorSearch: GatheredTurns['vectorSearch']; candidates: number }
  /** Whether another page exists; false after MAX_PAGED_HITS hits, even if more match. */
  hasNextPage: boolean
  /** Whether the recall was called with `after`. */
  hasPreviousPage: boolean
  /** Cursors of the first and the last hit of the page; null if it is empty. */
  startCursor: string | null
  endCursor: string | null
}

type GivenInput = z.output<typeof recallInput>

export type RecallOptions = {
  /**
   * The turn that the query was taken from; null for none. The search excludes it, because it would be the best match,
   * and scores are relative to the best match. Pass the same turn for every page.
   */
  queryTurn?: TurnPlace | null
  /** Result of a conversationScopeRead by the caller, for the conversation and the serving embedder; null for none. */
  scope?: ScopeRead | null
}

/** Whether the recall searches more than one conversation. */
const isWide = ({ scope }: Pick<RecallInput, 'scope'>): boolean => scope != null && scope !== 'CONVERSATION'

/** Returns the id of the conversation whose journal contains all changes to the searched data; null for none. */
export const coveringJournal = (input: RecallInput): string | null =>
  isWide(input) ? null : (input.conversationId ?? null)

/**
 * Returns the `k` most relevant memories, best first. `k` and `threshold` default to those of the tenant, `kinds`
 * to DEFAULT_KINDS. Excludes superseded, streaming and aborted turns, and superseded facts.
 *
 * With `after`, a cursor, returns the hits that follow the hits of the earlier pages; all pages together have at most
 * MAX_PAGED_HITS hits. A page repeats no hit of an earlier page, even if its turn has a newer version by then. Memories
 * written after the first page are excluded.
 *
 * `threshold` is the minimum relevance. `maxTokens` is the maximum number of tokens in the hits and
 * neighbours of a page together; null for no limit. Hits that do not fit are skipped, and are on a later page if they
 * fit there. facts.ts and summaries.ts describe how the other filters apply to facts and summaries.
 * @throws InvalidInput @throws NotFound if the viewer sees no conversation with the given id
 * @throws NotAllowed if rights.ts denies the call
 */
export async function recall(
  deps: RecallDeps,
  viewer: Viewer,
  input: RecallInput,
  { queryTurn = null, scope = null }: RecallOptions = {},
): Promise<Recall> {
  authorize(viewer, 'recall', { conversationId: isWide(input) ? null : input.conversationId })
  const defaults = await deps.defaults.of(viewer.tenant)
  const parsed = parse(recallInput, input)
  const given = { ...parsed, threshold: parsed.threshold ?? defaults.recallThreshold }
  await requirePermits(
    deps.db.of(viewer.tenant),
    viewer,
    'recall',
    given.conversationId ?? null,
    given.scope === 'TENANT' ? ['tenantScope'] : [],
  )
  const identity = () => recallIdentity([viewer.tenant, viewer.actor, selectionOf(given)])
  const position = given.after == null ? null : decodePosition(identity(), given.after)
  const read = position?.read ?? []
  const k = Math.min(given.k ?? defaults.recallHits ?? HITS.recall, MAX_PAGED_HITS - read.length)
  const writtenBy = position && new Date(position.readAt)
  const limit = Math.max(MIN_CANDIDATES, read.length + k + 1)
  const find = async (scopeRead: ScopeRead | null): Promise<Found> => {
    const found = await search(deps, viewer, given, { writtenBy, limit, queryTurn, scopeRead })
    const hits = unreadOf(found.ranked.hits, read, given.threshold)
    return { ...found, ...choose(hits, k, given.neighbours ?? 0, given.maxTokens ?? Infinity) }
  }
  const guess = scope === null && position === null ? guessScope(deps, viewer, given) : null
  const { found, turns } = guess
    ? await findByGuess(deps, viewer, guess, find)
    : await readTurnsOf(deps, viewer, await find(scope))

  const { chosen, isMore, vectorSearch } = found
  deps.recalledFacts.add(
    chosen.flatMap(({ hit: { candidate } }) => (candidate.kind === 'FACT' ? [candidate.fact.id] : [])),
  )
  // Hash the inputs and the hits only if a cursor is requested.
  const cursorAfter = (hits: number) =>
    encodePosition(identity(), {
      readAt: position?.readAt ?? found.readAt.getTime(),
      read: [...read, ...chosen.slice(0, hits).map(({ hit }) => hitKey(identityOf(hit)))],
    })
  return {
    hits: hitsOf(chosen, turns),
    plan: { vectorSearch, candidates: found.ranked.count },
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

/** The result of a search, and the hits chosen for the page. */
type Found = Searched & ReturnType<typeof choose>

async function readTurnsOf(
  { pool }: RecallDeps,
  viewer: Viewer,
  found: Found,
): Promise<{ found: Found; turns: Turn[] }> {
  const [turns] = await readAll(pool, viewer.tenant, [turnsOfHitsRead(viewer, found.chosen)])
  return { found, turns: turns ?? [] }
}

/** Returns the state that the recall will probably read; null if unknown, or if the recall searches other data too. */
function guessScope(deps: RecallDeps, viewer: Viewer, given: GivenInput): ScopeConversation | null {
  if (isWide(given) || given.conversationId == null || given.kinds?.includes('SUMMARY')) return null
  const guess = deps.scopes.guess(viewer, deps.embedding.serving().name, given.conversationId)
  const searchesFacts = guess?.hasFacts && (given.kinds ?? DEFAULT_KINDS).includes('FACT')
  return guess && !searchesFacts && isSearchedWhole(deps, viewer.tenant, [guess]) ? guess : null
}

/** Finds hits in the guessed state, then reads the current state and the turns. Searches again after a wrong guess. */
async function findByGuess(
  deps: RecallDeps,
  viewer: Viewer,
  guess: ScopeConversation,
  find: (scope: ScopeRead) => Promise<Found>,
): Promise<{ found: Found; turns: Turn[] }> {
  const embedder = deps.embedding.serving().name
  const guessed = await find({ conversations: [guess], readAt: new Date(0) })
  const [scope, turns] = await readAll(deps.pool, viewer.tenant, [
    conversationScopeRead(viewer, guess.id, embedder),
    turnsOfHitsRead(viewer, guessed.chosen),
  ])
  const [conversation] = scope.conversations
  if (!conversation) throw new NotFound('conversation', guess.id)
  deps.scopes.remember(viewer, embedder, conversation)
  if (isSameScope(guess, conversation)) return { found: { ...guessed, readAt: scope.readAt }, turns: turns ?? [] }
  return readTurnsOf(deps, viewer, await find(scope))
}

/** Yields the hits whose relevance is at least `threshold`, except those on earlier pages, whose keys are in `read`. */
function* unreadOf(hits: Iterable<RankedMemory>, read: readonly number[], threshold: number): Generator<RankedMemory> {
  const isRead = new Set(read)
  for (const hit of hits) {
    if (hit.relevance < threshold) continue
    if (isRead.size === 0 || !isRead.has(hitKey(identityOf(hit)))) yield hit
  }
}

/** Returns the inputs that select or order hits. They must be equal for all pages of a recall. */
function selectionOf({ k: _, after: __, neighbours: ___, maxTokens: ____, ...selection }: GivenInput) {
  const { scope, kinds, threshold, ...filter } = selection
  const given = Object.entries(filter).filter(([, value]) => value != null)
  const searched = new Set(kinds ?? DEFAULT_KINDS)
  return [scope ?? 'CONVERSATION', KINDS.filter((kind) => searched.has(kind)), threshold ?? 0, given]
}

type Searched = {
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
): Promise<Searched> {
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
  // Skip the search for facts if the conversation has none. Other scopes also contain facts without a conversation.
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
  { pool, embedding, scopes }: RecallDeps,
  viewer: Viewer,
  scope: (typeof SCOPES)[number],
  conversationId: string | null,
): Promise<ScopeRead> {
  const embedder = embedding.serving().name
  if (conversationId === null) return readWideScope(pool, viewer, scope as WideScope, null, embedder)
  const found = await readConversationScope(pool, viewer, conversationId, embedder)
  const [conversation] = found.conversations
  if (!conversation) throw new NotFound('conversation', conversationId)
  if (scope === 'CONVERSATION') scopes.remember(viewer, embedder, conversation)
  return scope === 'CONVERSATION' ? found : readWideScope(pool, viewer, scope, conversationId, embedder)
}
