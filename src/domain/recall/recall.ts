// Recall: returns the turns, facts and summaries most relevant to a query, from one conversation or several, as the
// viewer sees them. New turns are found by words at once and by vectors as soon as they are embedded.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import { CallFailed } from '../../providers/ports/call-failed.ts'
import { terms } from '../../text/words.ts'
import { Role } from '../../store/generated/enums.ts'
import { readScope, type ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { readTurnsAt } from '../../store/sql/turn/read-turns.ts'
import { versionKey } from '../../store/vector-search.ts'
import type { RecallDeps } from './deps.ts'
import { between, id, metadata, name, parse, share, text, time } from '../input.ts'
import type { Turn } from '../turn/turn.ts'
import { actAs, type Viewer } from '../view.ts'
import { recallFacts } from './facts.ts'
import type { SearchRequest, GatheredTurns, QueryTerms } from './gather.ts'
import { hashTerm } from '../../text/term-hash.ts'
import { choose, KINDS, merge, type ChosenMemory, type Memory, type MemoryKind } from './memory.ts'
import { recallSummaries } from './summaries.ts'
import { recallTurns } from './turns.ts'

/** Maximum length of a query, in code points. */
export const MAX_QUERY = 10_000
/** Default and maximum number of hits. */
const DEFAULT_HITS = 10
const MAX_HITS = 100
/** Maximum number of neighbours on each side of a hit. */
const MAX_NEIGHBOURS = 10
/** Maximum number of distinct terms searched for, from the beginning of the query. */
const MAX_TERMS = 32
/** Timeout for embedding a query, in milliseconds. After it, the search uses words only. */
const EMBED_TIMEOUT_MS = 3_000

const SCOPES = ['CONVERSATION', 'OWNER', 'TENANT'] as const
/** Kinds searched by default. */
const DEFAULT_KINDS: readonly MemoryKind[] = ['TURN', 'FACT']

const recallInput = z.object({
  query: text(MAX_QUERY).refine((query) => query.trim() !== '', 'must not be empty'),
  k: between(1, MAX_HITS).nullish(),
  conversationId: id('conversation').nullish(),
  scope: z.enum(SCOPES).nullish(),
  kinds: z.array(z.enum(KINDS)).nullish(),
  threshold: share.nullish(),
  actors: z.array(name).max(1000).nullish(),
  roles: z.array(z.enum(Role)).nullish(),
  createdAfter: time.nullish(),
  createdBefore: time.nullish(),
  metadata: metadata.nullish(),
  neighbours: between(0, MAX_NEIGHBOURS).nullish(),
  maxTokens: z.int().min(1, 'must be at least 1').nullish(),
  as: name.nullish(),
})
export type RecallInput = z.input<typeof recallInput>

export type RecallHit = {
  memory: Memory
  /** Relevance; hits are sorted by it, highest first. */
  score: number
  /**
   * Cosine of query and memory; for a fact, the greater of its two cosines. Null for summaries, and if the query has no
   * vector or the memory has none (yet).
   */
  similarity: number | null
  /**
   * BM25 score relative to the best match of its kind, 0 to 1. For facts and summaries, standalone.ts lowers it. Null
   * if no word matches.
   */
  textScore: number | null
  /** Turns before and after a turn, as the viewer sees them, oldest first; empty for facts and summaries. */
  neighbours: Turn[]
}
/** `plan` states how turns and facts were searched by vector, and how many candidates were ranked. */
export type Recall = { hits: RecallHit[]; plan: { vectorSearch: GatheredTurns['vectorSearch']; candidates: number } }

/**
 * Returns the `k` (default DEFAULT_HITS) most relevant memories, best first; `kinds` defaults to DEFAULT_KINDS.
 * Superseded, streaming and aborted turns and superseded facts are excluded.
 *
 * `threshold`: minimum cosine of query and memory; 0 excludes none. Above 0, turns and facts without a vector are
 * excluded; summaries never have one, and are not. `maxTokens` limits the
 * hits and neighbours together; hits that do not fit are skipped. facts.ts and summaries.ts describe how the other
 * filters apply to facts and summaries.
 * @throws InvalidInput @throws NotFound if the viewer sees no conversation with the given id
 */
export async function recall(deps: RecallDeps, principal: Viewer, input: RecallInput): Promise<Recall> {
  const given = parse(recallInput, input)
  const { query } = given
  const viewer = actAs(principal, given.as)
  const scope = given.scope ?? 'CONVERSATION'
  const conversationId = given.conversationId ?? null
  if (scope === 'CONVERSATION' && conversationId === null) {
    throw InvalidInput.at('conversationId', 'is required for scope CONVERSATION; or set scope to OWNER or TENANT')
  }
  const kinds = new Set(given.kinds ?? DEFAULT_KINDS)
  const [conversations, vector] = await Promise.all([
    findConversations(deps, viewer, scope, conversationId),
    kinds.has('TURN') || kinds.has('FACT') ? embedQuery(deps, query) : null,
  ])
  // Skip the fact search if the conversation has no facts. The other scopes also contain facts without a conversation.
  const searchesFacts =
    kinds.has('FACT') && (scope !== 'CONVERSATION' || conversations.some(({ hasFacts }) => hasFacts))
  const k = given.k ?? DEFAULT_HITS
  const request: SearchRequest = {
    terms: termsOf(query),
    vector,
    k,
    filter: {
      actors: given.actors,
      roles: given.roles,
      since: given.createdAfter,
      until: given.createdBefore,
      metadata: given.metadata,
    },
  }
  if (request.terms.size === 0 && vector === null) return { hits: [], plan: { vectorSearch: 'NONE', candidates: 0 } }
  const [turns, facts, summaries] = await Promise.all([
    kinds.has('TURN')
      ? recallTurns(deps, viewer, conversations, query, request)
      : { found: [], vectorSearch: 'NONE' as const },
    searchesFacts ? recallFacts(deps, viewer, { scope, conversationId }, query, request) : [],
    kinds.has('SUMMARY') ? recallSummaries(deps, viewer, conversations, query, request) : [],
  ])
  const ranked = merge(turns.found, facts, summaries)
  const aboveThreshold = ranked.filter(
    ({ kind, candidate: { similarity } }) =>
      !given.threshold || kind === 'SUMMARY' || (similarity ?? -1) >= given.threshold,
  )
  const chosen = choose(aboveThreshold, k, given.neighbours ?? 0, given.maxTokens ?? Infinity)
  deps.recalledFacts.add(chosen.flatMap(({ hit }) => (hit.kind === 'FACT' ? [hit.fact.id] : [])))
  // The vectors of facts are always searched exactly.
  const vectorSearch = turns.vectorSearch === 'NONE' && searchesFacts && vector ? 'EXACT' : turns.vectorSearch
  return { hits: await toHits(deps, viewer, chosen), plan: { vectorSearch, candidates: ranked.length } }
}

/** Returns the conversations in scope. @throws NotFound if the viewer sees no conversation with the given id */
async function findConversations(
  { pool }: RecallDeps,
  viewer: Viewer,
  scope: (typeof SCOPES)[number],
  conversationId: string | null,
): Promise<ScopeConversation[]> {
  if (conversationId !== null && scope !== 'CONVERSATION') {
    const [conversation] = await readScope(pool, viewer, 'CONVERSATION', conversationId)
    if (!conversation) throw new NotFound('conversation', conversationId)
  }
  const conversations = await readScope(pool, viewer, scope, conversationId)
  if (scope === 'CONVERSATION' && conversations.length === 0) throw new NotFound('conversation', conversationId!)
  return conversations
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

/** Maps the hash of each of the query's first MAX_TERMS distinct terms to the term's index. */
function termsOf(query: string): QueryTerms {
  const distinct = [...new Set(terms(query))].slice(0, MAX_TERMS)
  return new Map(distinct.map((term, index) => [hashTerm(term), index]))
}

/** Builds the hits. Reads their turns, because ranking read only index entries. */
async function toHits({ pool }: RecallDeps, viewer: Viewer, chosen: readonly ChosenMemory[]): Promise<RecallHit[]> {
  const versions = new Map(
    chosen
      .flatMap(({ hit, neighbours }) => (hit.kind === 'TURN' ? [hit.candidate.turn, ...neighbours] : []))
      .map((turn) => [versionKey(turn), turn]),
  )
  const rows = versions.size > 0 ? await readTurnsAt(pool, viewer, [...versions.values()]) : []
  const turns = new Map(rows.map((row) => [versionKey({ conversationId: row.conversationId, seq: row.seq }), row]))
  const memoryOf = (hit: ChosenMemory['hit']): Memory | null => {
    if (hit.kind === 'FACT') return { kind: 'FACT', fact: hit.fact }
    if (hit.kind === 'SUMMARY') return { kind: 'SUMMARY', summary: hit.summary }
    // A turn may have been deleted since the search.
    const turn = turns.get(versionKey(hit.candidate.turn))
    return turn ? { kind: 'TURN', turn } : null
  }
  return chosen.flatMap(({ hit, neighbours }) => {
    const memory = memoryOf(hit)
    if (!memory) return []
    const {
      candidate: { similarity },
      score,
      textScore,
    } = hit
    return [
      {
        memory,
        score,
        similarity,
        textScore,
        neighbours: neighbours.flatMap((each) => turns.get(versionKey(each)) ?? []),
      },
    ]
  })
}
