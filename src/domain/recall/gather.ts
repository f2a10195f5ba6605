// Finds candidate turns by words and by vectors, with the data that ranking needs. A small scope is read completely. A
// large scope is searched through indexes: its words in memory or in the database, its vectors in the database. Every
// search applies the viewer's view: turns that the viewer does not see are never candidates or neighbours and are not
// counted.

import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { versionKey } from '../../store/vector-search.ts'
import type { Viewer } from '../view.ts'
import { withNeighbours } from './candidate.ts'
import { gatherWhole } from './gather-whole.ts'
import { isOther, type GatherDeps, type GatheredTurns, type SearchRequest, type WordSearch } from './search.ts'
import { turnAtPlace, type Sequence } from './sequence.ts'
import { isInMemory } from './turn-index.ts'
import { searchInDatabase } from './words-in-database.ts'
import { searchInMemory } from './words-in-memory.ts'

/** Maximum number of public turns (committed, without an audience) in a scope that is always read completely. */
const WHOLE_TURNS = 5_000
/** Maximum number of public turns in a scope that is read completely if its indexes are in memory. */
const PREPARED_TURNS = 15_000
/** The default of both limits. */
const LIMITS = { whole: WHOLE_TURNS, prepared: PREPARED_TURNS }
/**
 * Maximum number of journal entries in such a scope, as a multiple of its maximum number of public turns. This bounds
 * the work, because private turns and older versions are read, too.
 */
const ENTRIES_PER_TURN = 2
/**
 * Whether the scope has at most `whole` public turns, and at most ENTRIES_PER_TURN times as many journal entries.
 * Private turns count only as entries: below that number of entries, turns that the viewer does not see change neither
 * the method of the search nor the ranking.
 */
export function isReadWhole(
  conversations: readonly Pick<ScopeConversation, 'lastSeq' | 'publicTurns'>[],
  whole = WHOLE_TURNS,
): boolean {
  const sum = (countOf: (each: (typeof conversations)[number]) => number) =>
    conversations.reduce((total, each) => total + countOf(each), 0)
  return sum(({ publicTurns }) => publicTurns) <= whole && sum(({ lastSeq }) => lastSeq) <= ENTRIES_PER_TURN * whole
}

/**
 * Whether a recall of the scope reads it completely now. For a scope between the two limits, repeated calls start to
 * read its indexes into memory (see `prepare` in index-cache.ts).
 */
export function isSearchedWhole(
  { pool, indexes, embedding }: Pick<GatherDeps, 'pool' | 'indexes' | 'embedding'>,
  tenant: string,
  conversations: readonly ScopeConversation[],
  { whole, prepared } = LIMITS,
): boolean {
  if (isReadWhole(conversations, whole)) return true
  if (!isReadWhole(conversations, prepared)) return false
  const states = conversations.map(({ id, index: { state } }) => ({ id, state }))
  return indexes.prepare(pool, tenant, embedding.serving(), states)
}

/** Gathers candidates. @param limits see LIMITS */
export const gather = (
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  request: SearchRequest,
  limits = LIMITS,
): Promise<GatheredTurns> =>
  isSearchedWhole(deps, viewer.tenant, conversations, limits)
    ? gatherWhole(deps, viewer, conversations, request, !isReadWhole(conversations, limits.whole))
    : deps.gates.searches.run(viewer.tenant, () => gatherLarge(deps, viewer, conversations, request))

/** Gathers candidates from a large scope through indexes. */
async function gatherLarge(
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  request: SearchRequest,
): Promise<GatheredTurns> {
  const { vector, filter, limit, queryTurn } = request
  const { vectors } = deps
  const ids = conversations.map(({ id }) => id)
  const [words, nearest] = await Promise.all([
    searchWords(deps, viewer, conversations, request),
    vector && vectors.nearest(vector.embedder, viewer, ids, vector.query, queryTurn ? limit + 1 : limit, filter),
  ])
  const others = [...words.found, ...(nearest?.found ?? [])].filter((turn) => isOther(queryTurn, turn))
  const { sequences, found, participants } = await words.around([
    ...new Map(others.map((turn) => [versionKey(turn), turn])).values(),
  ])
  const candidates = candidatesIn(sequences, found)

  // Ranking needs the similarities of the candidates and of the adjacent turns. The search has computed some of them,
  // but computing them again is cheap.
  const compared = sequences.flatMap((sequence, i) => {
    const places = new Set([...candidates[i]!].flatMap((place) => [place - 1, place, place + 1]))
    return [...places].flatMap((place) => (place in sequence.turns ? turnAtPlace(sequence, place) : []))
  })
  const similarities =
    vector && compared.length
      ? await vectors.compare(vector.embedder, viewer.tenant, compared, vector.query)
      : new Map<string, number>()
  for (const sequence of sequences) {
    for (const place of sequence.turns.keys()) {
      sequence.similarities[place] = similarities.get(versionKey(turnAtPlace(sequence, place))) ?? NaN
    }
  }
  return { sequences, candidates, participants, statistics: words.statistics, vectorSearch: nearest?.method ?? 'NONE' }
}

/**
 * Searches in memory if the words of the scope are cached and the filter compares only values that are in memory.
 * Otherwise, searches in the database.
 */
async function searchWords(
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  request: SearchRequest,
): Promise<WordSearch> {
  if (request.terms.size === 0 || !isInMemory(request.filter)) {
    return searchInDatabase(deps, viewer, conversations, request)
  }
  const states = conversations.map(({ id, index: { state } }) => ({ id, state }))
  const indexes = await deps.words.read(deps.pool, viewer.tenant, states)
  if (indexes === null) return searchInDatabase(deps, viewer, conversations, request)
  return searchInMemory(indexes, new Map(conversations.map(({ id, index: { view } }) => [id, view])), request)
}

/**
 * Returns the places of the candidates in each sequence: the found turns and their neighbours. A neighbour that is in
 * several sequences is a candidate only in the first one; each of them contains the turns that its features depend on.
 */
function candidatesIn(sequences: readonly Sequence[], found: readonly (readonly number[])[]): Int32Array[] {
  const taken = new Set<string>()
  return sequences.map((sequence, i) =>
    withNeighbours(sequence, found[i]!).filter((place) => {
      const key = versionKey(turnAtPlace(sequence, place))
      return !taken.has(key) && taken.add(key)
    }),
  )
}
