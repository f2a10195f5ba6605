// Finds candidate turns by words and by vectors, with the data that ranking needs. A small scope is searched in memory. A
// large scope is searched in memory if its indexes are cached; otherwise its words are searched in memory or in the
// database, and its vectors in the database. Every search applies the viewer's view: turns that the viewer does not see
// are never candidates or neighbours and are not counted.

import { readMatching } from '../../../../store/sql/memory/recall/read-matching.ts'
import type { ScopeConversation } from '../../../../store/sql/memory/recall/scope.ts'
import { versionKey, type QueryVector } from '../../../../store/vectors/vector-search.ts'
import type { Viewer } from '../../../kernel/view.ts'
import type { IndexRequest } from '../index/index-cache.ts'
import { searchInMemory, type Match } from './in-memory.ts'
import {
  isOther,
  type GatherDeps,
  type GatheredTurns,
  type SearchRequest,
  type SearchScope,
  type TurnSearch,
} from './request.ts'
import { turnAtPlace } from '../index/sequence.ts'
import { isInMemory, isUnfiltered, versionFilter, type TurnIndex } from '../index/turn-index.ts'
import { searchInDatabase } from './in-database.ts'

/** Maximum number of public turns (committed, without an audience) in a small scope. */
const SMALL_TURNS = 5_000
/** Maximum number of public turns in a scope whose vectors are searched in memory if its indexes are cached. */
const MEMORY_TURNS = 15_000
/** The default of SearchScope.limits. */
const LIMITS = { small: SMALL_TURNS, memory: MEMORY_TURNS }
/**
 * Maximum number of journal entries in such a scope, as a multiple of its maximum number of public turns. This bounds
 * the work, because private turns and older versions are read, too.
 */
const ENTRIES_PER_TURN = 2

/** The fields of a conversation that determine the size of a scope. */
type ScopeSize = Pick<ScopeConversation, 'lastSeq' | 'publicTurns'>

/**
 * Whether the scope has at most `limit` public turns, and at most ENTRIES_PER_TURN times as many journal entries.
 * Private turns count only as entries: below that number of entries, turns that the viewer does not see change neither
 * the method of the search nor the ranking.
 */
function isWithin(conversations: readonly ScopeSize[], limit: number): boolean {
  const sum = (countOf: (each: (typeof conversations)[number]) => number) =>
    conversations.reduce((total, each) => total + countOf(each), 0)
  return sum(({ publicTurns }) => publicTurns) <= limit && sum(({ lastSeq }) => lastSeq) <= ENTRIES_PER_TURN * limit
}

/** Whether all of the scope is searched in memory, without the database. */
export const isSmall = (scope: readonly ScopeSize[]): boolean => isWithin(scope, LIMITS.small)

/** Gathers candidates. */
export async function gather(
  deps: GatherDeps,
  viewer: Viewer,
  { conversations: scope, limits = LIMITS }: SearchScope,
  request: SearchRequest,
): Promise<GatheredTurns> {
  const isLarge = !isWithin(scope, limits.small)
  const { vector } = request
  const embedder = vector ? { name: vector.embedder, dimension: vector.query.length } : deps.embedding.serving()
  const indexes =
    isLarge && !isWithin(scope, limits.memory) ? null : await readIndexes(deps, viewer, scope, { embedder, isLarge })
  if (indexes === null) return deps.gates.searches.run(viewer.tenant, () => gatherLarge(deps, viewer, scope, request))
  const search = await searchIndexes(deps, viewer, { scope, indexes, isLarge, vector: vector?.query ?? null }, request)
  const { statistics, found } = search
  return { statistics, ...(await search.around(found)), vectorSearch: vector ? 'EXACT' : 'NONE' }
}

const readIndexes = (
  { pool, indexes }: GatherDeps,
  { tenant }: Viewer,
  scope: readonly ScopeConversation[],
  need: Pick<IndexRequest, 'embedder' | 'isLarge'>,
): Promise<TurnIndex[] | null> =>
  indexes.read(pool, { tenant, conversations: scope.map(({ id, index: { state } }) => ({ id, state })), ...need })

/** The conversations of a scope, their indexes, and the vector to search them by. */
type IndexedScope = {
  scope: readonly ScopeConversation[]
  indexes: readonly TurnIndex[]
  isLarge: boolean
  vector: Float32Array | null
}

/** Searches indexes. */
async function searchIndexes(
  deps: GatherDeps,
  viewer: Viewer,
  { scope, ...given }: IndexedScope,
  request: SearchRequest,
): Promise<TurnSearch> {
  const views = new Map(scope.map(({ id, index: { view } }) => [id, view]))
  const isMatch = await matcher(deps, viewer, scope, request)
  return searchInMemory({ ...given, views, isMatch }, request)
}

/**
 * Returns the function of the filter; null if every version matches. Reads the matching versions from the database only
 * if the indexes do not contain all values that the filter compares.
 */
async function matcher(
  { pool }: GatherDeps,
  { tenant }: Viewer,
  scope: readonly ScopeConversation[],
  { filter }: SearchRequest,
): Promise<Match | null> {
  if (isUnfiltered(filter)) return null
  if (isInMemory(filter)) return versionFilter(filter)
  const ids = scope.map(({ id }) => id)
  const read = await readMatching(pool, tenant, ids, filter)
  return ({ conversationId, versions }, version) => read.get(conversationId)?.has(versions.seqs[version]!) ?? false
}

/** Gathers candidates from a large scope, whose vectors are in the database. */
async function gatherLarge(
  deps: GatherDeps,
  viewer: Viewer,
  scope: readonly ScopeConversation[],
  request: SearchRequest,
): Promise<GatheredTurns> {
  const { vector, filter, limit, queryTurn } = request
  const { vectors } = deps
  const ids = scope.map(({ id }) => id)
  const [words, nearest] = await Promise.all([
    searchWords(deps, viewer, scope, request),
    vector && vectors.nearest(viewer, ids, vector, { limit: queryTurn ? limit + 1 : limit, filter }),
  ])
  const others = [...words.found, ...(nearest?.found ?? [])].filter((turn) => isOther(queryTurn, turn))
  const gathered = await words.around([...new Map(others.map((turn) => [versionKey(turn), turn])).values()])
  if (vector) await addSimilarities(deps, viewer, gathered, vector)
  return { ...gathered, statistics: words.statistics, vectorSearch: nearest?.method ?? 'NONE' }
}

/**
 * Searches in memory if the words of the scope are cached and the filter compares only values that are in memory.
 * Otherwise, searches in the database.
 */
async function searchWords(
  deps: GatherDeps,
  viewer: Viewer,
  scope: readonly ScopeConversation[],
  request: SearchRequest,
): Promise<TurnSearch> {
  const indexes =
    request.terms.size > 0 && isInMemory(request.filter)
      ? await readIndexes(deps, viewer, scope, { embedder: null, isLarge: true })
      : null
  return indexes
    ? searchIndexes(deps, viewer, { scope, indexes, isLarge: true, vector: null }, request)
    : searchInDatabase(deps, viewer, scope, request)
}

/**
 * Adds the similarities of the candidates and of the adjacent turns, which ranking needs. The search has computed some of
 * them, but computing them again is cheap.
 */
async function addSimilarities(
  { vectors }: GatherDeps,
  { tenant }: Viewer,
  { sequences, candidates }: Pick<GatheredTurns, 'sequences' | 'candidates'>,
  vector: QueryVector,
): Promise<void> {
  const compared = sequences.flatMap((sequence, i) => {
    const places = new Set([...candidates[i]!].flatMap((place) => [place - 1, place, place + 1]))
    return [...places].flatMap((place) =>
      place in sequence.turns ? { sequence, place, turn: turnAtPlace(sequence, place) } : [],
    )
  })
  if (compared.length === 0) return
  const turns = compared.map(({ turn }) => turn)
  const similarities = await vectors.compare(tenant, vector, turns)
  for (const { sequence, place, turn } of compared) {
    sequence.similarities[place] = similarities.get(versionKey(turn)) ?? NaN
  }
}
