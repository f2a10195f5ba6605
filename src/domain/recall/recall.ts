// Recall: the turns that a query is about, best first, as the viewer sees them. By words at once, by vectors as soon as
// they are made, in one room or in many.

import { z } from 'zod'
import { InvalidInput, NotFound } from '../../errors.ts'
import { EmbedderFailed } from '../../providers/embedder.ts'
import { STOP_WORDS, terms, words } from '../../providers/words.ts'
import { Role } from '../../store/generated/enums.ts'
import { readScope, type ScopeRoom } from '../../store/sql/read-scope.ts'
import { readTurnsAt } from '../../store/sql/read-turns.ts'
import { placeKey } from '../../store/vector-search.ts'
import type { Deps } from '../deps.ts'
import { id, metadata, name, parse, storable, time } from '../input.ts'
import { seenBy, type Turn } from '../turn/turn.ts'
import { actAs, type Viewer } from '../view.ts'
import { rarities } from './bm25.ts'
import { toCandidate, type TurnCandidate } from './candidate.ts'
import { gather, type Asked, type Gathered, type QueryTerms } from './gather.ts'
import { hashed } from './index-entry.ts'
import { readQuestion } from './question.ts'
import { rank, type Ranked } from './rank.ts'

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
const KINDS = ['TURN'] as const

const between = (least: number, most: number) => z.int().min(least, `must be ${least} to ${most}`)
  .max(most, `must be ${least} to ${most}`)

const recallInput = z.object({
  query: z.string().superRefine((query, context) => {
    const problem = query.trim() === '' ? 'must not be empty'
      : query.length > QUERY ? `has ${query.length} characters; at most ${QUERY} are taken` : storable(query)
    if (problem) context.addIssue({ code: 'custom', message: problem })
  }),
  k: between(1, HITS).nullish(),
  conversationId: id('conversation').nullish(),
  scope: z.enum(SCOPES).nullish(),
  kinds: z.array(z.enum(KINDS)).nullish(),
  threshold: z.number().min(0, 'must be 0 to 1').max(1, 'must be 0 to 1').nullish(),
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
  turn: Turn
  /** What the order is by. */
  score: number
  /** Cosine of query and turn; null where the turn has no vector yet. */
  similarity: number | null
  /** 0 to 1, relative to the best match among the candidates; null where not one word matches. */
  textScore: number | null
  /** Turns before and after it as the viewer sees them, oldest first. */
  neighbours: Turn[]
}
export type Recall = { hits: RecallHit[]; plan: { vectorSearch: Gathered['vectorSearch']; candidates: number } }

/**
 * The `k` (10) turns that the query is about, best first. Superseded, unfinished and aborted turns are left out.
 *
 * `threshold`: the least cosine of query and turn; what has no vector fails it. `maxTokens`: of hits and neighbours
 * together; what does not fit is passed over for what comes after it.
 * @throws InvalidInput @throws NotFound for a room that the viewer's tenant has not
 */
export async function recall(deps: Deps, asker: Viewer, input: RecallInput): Promise<Recall> {
  const given = parse(recallInput, input)
  const viewer = actAs(asker, given.as)
  const scope = given.scope ?? 'CONVERSATION'
  if (scope === 'CONVERSATION' && given.conversationId == null) {
    throw InvalidInput.at('conversationId', 'is needed to search one conversation; or set scope to OWNER or TENANT')
  }
  const [rooms, vector] = await Promise.all([
    findRooms(deps, viewer, scope, given.conversationId ?? null), directionOf(deps, given.query),
  ])
  const nothing: Recall = { hits: [], plan: { vectorSearch: 'NONE', candidates: 0 } }
  if (given.kinds?.length === 0 || rooms.length === 0) return nothing

  const k = given.k ?? 10
  const asked: Asked = {
    terms: termsOf(given.query), vector, k,
    filter: {
      actors: given.actors, roles: given.roles, since: given.after, until: given.before, metadata: given.metadata,
    },
  }
  if (asked.terms.size === 0 && vector === null) return nothing
  const gathered = await gather(deps, viewer, rooms, asked)
  const ranked = rankGathered(given.query, gathered)
  const good = ranked.filter(({ candidate: { similarity } }) =>
    given.threshold == null || (similarity ?? -1) >= given.threshold)
  const chosen = choose(good, k, given.neighbours ?? 0, given.maxTokens ?? Infinity)
  return {
    hits: await toHits(deps, viewer, chosen),
    plan: { vectorSearch: gathered.vectorSearch, candidates: ranked.length },
  }
}

async function findRooms(
  { pool }: Deps, viewer: Viewer, scope: (typeof SCOPES)[number], conversationId: string | null,
): Promise<ScopeRoom[]> {
  if (conversationId !== null && scope !== 'CONVERSATION') {
    const [known] = await readScope(pool, viewer, 'CONVERSATION', conversationId)
    if (!known) throw new NotFound('conversation', conversationId)
  }
  const rooms = await readScope(pool, viewer, scope, conversationId)
  if (scope === 'CONVERSATION' && rooms.length === 0) throw new NotFound('conversation', conversationId!)
  return rooms
}

/** The query's direction; null where it has none, or where the provider cannot be had: then the words must do. */
async function directionOf(deps: Deps, text: string): Promise<Asked['vector']> {
  const embedder = deps.embedding.searched()
  try {
    const [query] = await embedder.embed([text], AbortSignal.timeout(PATIENCE_MS))
    return query!.every((component) => component === 0) ? null : { embedder: embedder.name, query: query! }
  } catch (err) {
    if (!(err instanceof EmbedderFailed) && (err as Error).name !== 'TimeoutError') throw err
    deps.log.warn({ err, embedder: embedder.name }, 'a query could not be embedded: it is answered by its words')
    return null
  }
}

/** The query's terms, numbered. */
function termsOf(query: string): QueryTerms {
  const different = [...new Set(terms(query))].slice(0, QUERY_TERMS)
  return new Map(different.map((term, number) => [hashed(term), number]))
}

/** What a query may call somebody: the whole name, or its first word. */
function namesOf(name: string): string[] {
  const all = words(name)
  const first = all[0]
  return [...new Set([all.join(' '), first ?? ''])].filter((each) => each.length > 1 && !STOP_WORDS.has(each))
}

function rankGathered(
  query: string, { stretches, candidates, participants, statistics, similarity }: Gathered,
): Ranked<TurnCandidate>[] {
  // A turn may lie near two stretches; each knows enough of it.
  const chosen = new Map(stretches.flatMap((stretch, i) =>
    candidates[i]!.map((index) => [placeKey(stretch[index]!), { stretch, index }] as const)))
  const keyOf = (room: string, actor: string) => `${room} ${actor}`
  const names = new Map(participants.map(({ conversationId, actor, displayName }) =>
    [keyOf(conversationId, actor), [...namesOf(actor), ...namesOf(displayName ?? '')]]))
  const question = readQuestion(query, [...names.values()].flat())
  const search = {
    similarity, rarity: rarities(statistics), averageLength: statistics.averageLength,
    names: ({ room, actor }: { room: string; actor: string }) =>
      (names.get(keyOf(room, actor)) ?? []).some((each) => question.speakers.has(each)),
  }
  return rank(question, [...chosen.values()].map(({ stretch, index }) => toCandidate(search, stretch, index)))
}

type Chosen = { hit: Ranked<TurnCandidate>; neighbours: TurnCandidate['turn'][] }

/** The best that fit. What a hit brings along counts with it, once. */
function choose(ranked: readonly Ranked<TurnCandidate>[], k: number, reach: number, maxTokens: number): Chosen[] {
  const chosen: Chosen[] = []
  const paid = new Set<string>()
  let left = maxTokens
  for (const hit of ranked) {
    if (chosen.length === k) break
    const { stretch, index } = hit.candidate
    const around = stretch.slice(Math.max(0, index - reach), index + reach + 1)
    const unpaid = around.filter((turn) => !paid.has(placeKey(turn)))
    const tokens = unpaid.reduce((sum, turn) => sum + turn.tokens, 0)
    if (tokens > left) continue
    left -= tokens
    for (const turn of unpaid) paid.add(placeKey(turn))
    chosen.push({ hit, neighbours: around.filter((turn) => turn !== hit.candidate.turn) })
  }
  return chosen
}

async function toHits({ pool }: Deps, viewer: Viewer, chosen: readonly Chosen[]): Promise<RecallHit[]> {
  const places = new Map(
    chosen.flatMap(({ hit, neighbours }) => [hit.candidate.turn, ...neighbours]).map((turn) => [placeKey(turn), turn]))
  const rows = await readTurnsAt(pool, viewer, [...places.values()])
  const turns = new Map(rows.map((row) => [placeKey({ room: row.conversationId, seq: row.seq }), seenBy(viewer)(row)]))
  // A turn may have been deleted since it was found.
  return chosen.flatMap(({ hit, neighbours }) => {
    const { candidate, score, textScore } = hit
    const turn = turns.get(placeKey(candidate.turn))
    if (!turn) return []
    return [{
      turn, score, similarity: candidate.similarity, textScore,
      neighbours: neighbours.flatMap((each) => turns.get(placeKey(each)) ?? []),
    }]
  })
}
