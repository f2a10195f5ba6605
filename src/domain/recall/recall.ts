// Recall: the turns, facts and summaries that a query is about, best first, as the viewer sees them. By words at once,
// by vectors as soon as they are made, in one conversation or in many.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import { CallFailed } from '../../providers/ports/call-failed.ts'
import { terms } from '../../text/words.ts'
import { Role } from '../../store/generated/enums.ts'
import { readScope, type ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { readTurnsAt } from '../../store/sql/turn/read-turns.ts'
import { placeKey } from '../../store/vector-search.ts'
import type { RecallDeps } from './deps.ts'
import { between, id, metadata, name, parse, share, storable, time } from '../input.ts'
import type { Turn } from '../turn/turn.ts'
import { actAs, type Viewer } from '../view.ts'
import { recallFacts } from './facts.ts'
import type { SearchRequest, GatheredTurns, QueryTerms } from './gather.ts'
import { hashTerm } from '../../text/term-hash.ts'
import { choose, KINDS, merge, type ChosenMemory, type Memory, type MemoryKind } from './memory.ts'
import { recallSummaries } from './summaries.ts'
import { recallTurns } from './turns.ts'

/** UTF-16 units of a query. */
const QUERY = 10_000
/** Hits of one recall. */
const HITS = 100
/** Turns shown on each side of a hit. */
const NEIGHBOURS = 10
/** Different terms of a query that are searched for, from its beginning. */
const QUERY_TERMS = 32
/** How long a provider may take over a query, ms. After that, the words alone must do. */
const PATIENCE_MS = 3_000

const SCOPES = ['CONVERSATION', 'OWNER', 'TENANT'] as const
/** Kinds that are looked among where none are named. */
const USUAL: readonly MemoryKind[] = ['TURN', 'FACT']

const recallInput = z.object({
  query: z.string().superRefine((query, context) => {
    const problem =
      query.trim() === ''
        ? 'must not be empty'
        : query.length > QUERY
          ? `has ${query.length} characters; at most ${QUERY} are taken`
          : storable(query)
    if (problem) context.addIssue({ code: 'custom', message: problem })
  }),
  k: between(1, HITS).nullish(),
  conversationId: id('conversation').nullish(),
  scope: z.enum(SCOPES).nullish(),
  kinds: z.array(z.enum(KINDS)).nullish(),
  threshold: share.nullish(),
  actors: z.array(name).max(1000).nullish(),
  roles: z.array(z.enum(Role)).nullish(),
  after: time.nullish(),
  before: time.nullish(),
  metadata: metadata.nullish(),
  neighbours: between(0, NEIGHBOURS).nullish(),
  maxTokens: z.int().min(1, 'must be at least 1').nullish(),
  as: name.nullish(),
})
export type RecallInput = z.input<typeof recallInput>

export type RecallHit = {
  memory: Memory
  /** What the order is by. */
  score: number
  /** Cosine of query and memory, of a fact the greater of its two; null where it has no vector (yet). */
  similarity: number | null
  /** 0 to 1, relative to the best match among the candidates of its kind; null where not one word matches. */
  textScore: number | null
  /** Turns before and after it as the viewer sees them, oldest first; none of what is no turn. */
  neighbours: Turn[]
}
export type Recall = { hits: RecallHit[]; plan: { vectorSearch: GatheredTurns['vectorSearch']; candidates: number } }

/**
 * The `k` (10) memories that the query is about, best first; turns and facts unless `kinds` says otherwise. Superseded,
 * unfinished and aborted turns are left out, and facts that hold no more.
 *
 * `threshold`: the least cosine of query and memory; what has no vector fails it. `maxTokens`: of hits and neighbours
 * together; what does not fit is passed over for what comes after it. What the filters mean of facts and of summaries,
 * facts.ts and summaries.ts say.
 * @throws InvalidInput @throws NotFound for a conversation that the viewer's tenant has not
 */
export async function recall(deps: RecallDeps, asker: Viewer, input: RecallInput): Promise<Recall> {
  const given = parse(recallInput, input)
  const { query } = given
  const viewer = actAs(asker, given.as)
  const scope = given.scope ?? 'CONVERSATION'
  const conversationId = given.conversationId ?? null
  if (scope === 'CONVERSATION' && conversationId === null) {
    throw InvalidInput.at('conversationId', 'is needed to search one conversation; or set scope to OWNER or TENANT')
  }
  const kinds = new Set(given.kinds ?? USUAL)
  const [conversationIds, vector] = await Promise.all([
    findConversations(deps, viewer, scope, conversationId),
    kinds.has('TURN') || kinds.has('FACT') ? directionOf(deps, query) : null,
  ])
  // Most conversations have none: then nothing is looked for. Of other scopes, users have facts without conversations.
  const mayHaveFacts = scope !== 'CONVERSATION' || conversationIds.some(({ hasFacts }) => hasFacts)
  const k = given.k ?? 10
  const request: SearchRequest = {
    terms: termsOf(query),
    vector,
    k,
    filter: {
      actors: given.actors,
      roles: given.roles,
      since: given.after,
      until: given.before,
      metadata: given.metadata,
    },
  }
  if (request.terms.size === 0 && vector === null) return { hits: [], plan: { vectorSearch: 'NONE', candidates: 0 } }
  const [turns, facts, summaries] = await Promise.all([
    kinds.has('TURN')
      ? recallTurns(deps, viewer, conversationIds, query, request)
      : { found: [], vectorSearch: 'NONE' as const },
    kinds.has('FACT') && mayHaveFacts ? recallFacts(deps, viewer, { scope, conversationId }, query, request) : [],
    kinds.has('SUMMARY') ? recallSummaries(deps, viewer, conversationIds, query, request) : [],
  ])
  const ranked = merge(turns.found, facts, summaries)
  const good = ranked.filter(
    ({ candidate: { similarity } }) => given.threshold == null || (similarity ?? -1) >= given.threshold,
  )
  const chosen = choose(good, k, given.neighbours ?? 0, given.maxTokens ?? Infinity)
  deps.recalledFacts.note(chosen.flatMap(({ hit }) => (hit.kind === 'FACT' ? [hit.fact.id] : [])))
  // All facts' vectors are compared, however many there are.
  const vectorSearch = turns.vectorSearch === 'NONE' && kinds.has('FACT') && vector ? 'EXACT' : turns.vectorSearch
  return { hits: await toHits(deps, viewer, chosen), plan: { vectorSearch, candidates: ranked.length } }
}

async function findConversations(
  { pool }: RecallDeps,
  viewer: Viewer,
  scope: (typeof SCOPES)[number],
  conversationId: string | null,
): Promise<ScopeConversation[]> {
  if (conversationId !== null && scope !== 'CONVERSATION') {
    const [known] = await readScope(pool, viewer, 'CONVERSATION', conversationId)
    if (!known) throw new NotFound('conversation', conversationId)
  }
  const conversationIds = await readScope(pool, viewer, scope, conversationId)
  if (scope === 'CONVERSATION' && conversationIds.length === 0) throw new NotFound('conversation', conversationId!)
  return conversationIds
}

/** The query's direction; null where it has none, or where the provider cannot be had: then the words must do. */
async function directionOf(deps: RecallDeps, text: string): Promise<SearchRequest['vector']> {
  const embedder = deps.embedding.searched()
  try {
    const [query] = await embedder.embed([text], AbortSignal.timeout(PATIENCE_MS))
    return query!.every((component) => component === 0) ? null : { embedder: embedder.name, query: query! }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    deps.log.warn({ err, embedder: embedder.name }, 'a query could not be embedded: it is answered by its words')
    return null
  }
}

/** The query's terms, numbered. */
function termsOf(query: string): QueryTerms {
  const different = [...new Set(terms(query))].slice(0, QUERY_TERMS)
  return new Map(different.map((term, number) => [hashTerm(term), number]))
}

/** The hits as they are handed out: turns are read only now. */
async function toHits({ pool }: RecallDeps, viewer: Viewer, chosen: readonly ChosenMemory[]): Promise<RecallHit[]> {
  const places = new Map(
    chosen
      .flatMap(({ hit, neighbours }) => (hit.kind === 'TURN' ? [hit.candidate.turn, ...neighbours] : []))
      .map((turn) => [placeKey(turn), turn]),
  )
  const rows = places.size > 0 ? await readTurnsAt(pool, viewer, [...places.values()]) : []
  const turns = new Map(rows.map((row) => [placeKey({ conversationId: row.conversationId, seq: row.seq }), row]))
  const memoryOf = (hit: ChosenMemory['hit']): Memory | null => {
    if (hit.kind === 'FACT') return { kind: 'FACT', fact: hit.fact }
    if (hit.kind === 'SUMMARY') return { kind: 'SUMMARY', summary: hit.summary }
    // A turn may have been deleted since it was found.
    const turn = turns.get(placeKey(hit.candidate.turn))
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
        neighbours: neighbours.flatMap((each) => turns.get(placeKey(each)) ?? []),
      },
    ]
  })
}
