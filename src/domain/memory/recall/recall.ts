// Recalls the turns, facts and summaries that are most relevant to a query, from one conversation or several, as the
// viewer sees them. Finds new turns by words immediately, and by vectors after they are embedded.

import { z } from 'zod'
import { NotFound } from '../../../errors.ts'
import { Role } from '../../../store/generated/enums.ts'
import {
  conversationScopeRead,
  type ScopeConversation,
  type ScopeRead,
} from '../../../store/sql/memory/recall/scope.ts'
import type { RecallDeps } from './deps.ts'
import { authorize, requirePermits } from '../../kernel/rights/authorize.ts'
import { HITS, MAX_HITS } from '../../kernel/call-defaults.ts'
import { between, id, name, parse, share, text, time } from '../../kernel/input.ts'
import { metadataFilter } from '../../kernel/metadata-filter.ts'
import type { Viewer } from '../../kernel/view.ts'
import { isSmall } from './search/turns.ts'
import { hitsOf, turnsOfHitsRead, type RecallHit } from './hit.ts'
import { NO_SCORES, rerank } from './rerank.ts'
import { isSameScope } from './scope-guesses.ts'
import type { Turn } from '../../turn/turn.ts'
import { readAll } from '../../../store/db/read.ts'
import type { GatheredTurns, TurnPlace } from './search/request.ts'
import { DEFAULT_KINDS, SCOPES, searchMemories, type Searched } from './search-memories.ts'
import { choose, identityOf, KINDS, type RankedMemory } from './memory.ts'
import { decodePosition, encodePosition, hitKey, MAX_PAGED_HITS, recallIdentity } from './recall-cursor.ts'

/** Maximum length of a query, in code points. */
export const MAX_QUERY = 10_000
/** Minimum of `limit` in SearchRequest. A higher minimum does not improve the hits. */
const MIN_CANDIDATES = 64
/** Maximum number of neighbours on each side of a hit. */
export const MAX_NEIGHBOURS = 10

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

/**
 * A page of hits. `plan` contains the method of the vector search, the number of candidates that were ranked, and the
 * number of them that the reranker scored.
 */
export type Recall = {
  hits: RecallHit[]
  plan: { vectorSearch: GatheredTurns['vectorSearch']; candidates: number; reranked: number }
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

/** Returns the conversation if the recall searches no other data; null if it does. */
export const onlyConversation = (input: RecallInput): string | null =>
  isWide(input) ? null : (input.conversationId ?? null)

/**
 * Returns the `k` most relevant memories: first those that the reranker scored, best first (rerank.ts), then the others
 * by `score`, highest first. `k` and `threshold` default to those of the tenant, `kinds` to DEFAULT_KINDS. Excludes
 * superseded, streaming and aborted turns, and superseded facts.
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
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'recall', {
    conversationId: given.conversationId ?? null,
    conditions: given.scope === 'TENANT' ? ['tenantScope'] : [],
  })
  const identity = () => recallIdentity([viewer.tenant, viewer.actor, selectionOf(given, deps.moment)])
  const position = given.after == null ? null : decodePosition(identity(), given.after)
  const read = position?.read ?? []
  const k = Math.min(given.k ?? defaults.recallHits ?? HITS.recall, MAX_PAGED_HITS - read.length)
  const writtenBy = position && new Date(position.readAt)
  const limit = Math.max(MIN_CANDIDATES, read.length + k + 1, deps.reranking?.candidates ?? 0)
  const find = async (scopeRead: ScopeRead | null): Promise<Found> => {
    const found = await searchMemories(deps, viewer, given, { writtenBy, limit, queryTurn, scopeRead })
    const isUnread = unreadAfter(read)
    const relevant = relevantOf(found.ranked.hits, given.threshold)
    const reranked = deps.reranking && (await rerank(deps, viewer, given.query, { hits: relevant, isUnread }))
    const hits = only(reranked?.hits ?? relevant, isUnread)
    const rerankScores = reranked?.scores ?? NO_SCORES
    return { ...found, rerankScores, ...choose(hits, k, given.neighbours ?? 0, given.maxTokens ?? Infinity) }
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
    hits: hitsOf(chosen, turns, found.rerankScores),
    plan: { vectorSearch, candidates: found.ranked.count, reranked: found.rerankScores.size },
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

/** The result of a search, the reranker's scores, and the hits chosen for the page. */
type Found = Searched & { rerankScores: ReadonlyMap<RankedMemory, number> } & ReturnType<typeof choose>

async function readTurnsOf(
  { pool }: RecallDeps,
  viewer: Viewer,
  found: Found,
): Promise<{ found: Found; turns: Turn[] }> {
  const [turns] = await readAll(pool, viewer.tenant, [turnsOfHitsRead(viewer, found.chosen)])
  return { found, turns: turns ?? [] }
}

/**
 * Returns the state that the recall will probably read; null if unknown, or if the recall searches other data too. Null
 * with a reranker, which takes much longer than the round trip that a guess saves.
 */
function guessScope(deps: RecallDeps, viewer: Viewer, given: GivenInput): ScopeConversation | null {
  if (deps.reranking) return null
  if (isWide(given) || given.conversationId == null || given.kinds?.includes('SUMMARY')) return null
  const guess = deps.scopes.guess(viewer, deps.embedding.serving().name, given.conversationId)
  const searchesFacts = guess?.hasFacts && (given.kinds ?? DEFAULT_KINDS).includes('FACT')
  return guess && !searchesFacts && isSmall([guess]) ? guess : null
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

/** Yields the hits whose relevance is at least `threshold`. */
function* relevantOf(hits: Iterable<RankedMemory>, threshold: number): Generator<RankedMemory> {
  for (const hit of hits) if (hit.relevance >= threshold) yield hit
}

/** Returns whether a hit is on no earlier page. @param read the keys of the hits on earlier pages */
function unreadAfter(read: readonly number[]): (hit: RankedMemory) => boolean {
  const isRead = new Set(read)
  return (hit) => isRead.size === 0 || !isRead.has(hitKey(identityOf(hit)))
}

function* only(hits: Iterable<RankedMemory>, isWanted: (hit: RankedMemory) => boolean): Generator<RankedMemory> {
  for (const hit of hits) if (isWanted(hit)) yield hit
}

/** Returns the inputs and the moment that select or order hits. They must be equal for all pages of a recall. */
function selectionOf(
  { k: _, after: __, neighbours: ___, maxTokens: ____, ...selection }: GivenInput,
  moment: RecallDeps['moment'],
) {
  const { scope, kinds, threshold, ...filter } = selection
  const given = Object.entries(filter).filter(([, value]) => value != null)
  const searched = new Set(kinds ?? DEFAULT_KINDS)
  return [
    scope ?? 'CONVERSATION',
    KINDS.filter((kind) => searched.has(kind)),
    threshold ?? 0,
    given,
    ...(moment ? [moment] : []),
  ]
}
