// Finds candidate turns in a scope that is read completely. Searches the indexes of its conversations in memory
// (index-cache.ts), limited to the viewer's view.

import { readMatching } from '../../store/sql/recall/read-matching.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import type { SearchFilter } from '../../store/vector-search.ts'
import { createYield } from '../../yield.ts'
import type { View, Viewer } from '../view.ts'
import { inverseDocumentFrequencies, type Statistics } from './bm25.ts'
import { addOwnScores, frequenciesOf, statisticsOf, withNeighbours } from './candidate.ts'
import { hashesOf, termsToSearch, type QueryTerms } from './query-terms.ts'
import { best, withoutQueryTurn, type GatherDeps, type GatheredTurns, type SearchRequest } from './search.ts'
import { matchesOfTerms, type Sequence, type TermMatches } from './sequence.ts'
import {
  isInMemory,
  isUnfiltered,
  versionFilter,
  visibleTurns,
  type TurnIndex,
  type VisibleTurns,
} from './turn-index.ts'
import { productsByRow } from './vector-blocks.ts'
import { postingsOf } from './postings.ts'

/** Returns the indexes of the conversations that the viewer sees, with the view of each. */
async function readIndexes(
  { pool, indexes, embedding }: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  vector: SearchRequest['vector'],
): Promise<{ index: TurnIndex; view: View }[]> {
  const embedder = vector?.embedder ?? embedding.serving().name
  const states = conversations.map(({ id, index: { state } }) => ({ id, state }))
  const read = await indexes.read(pool, viewer.tenant, embedder, states)
  return conversations.flatMap(({ id, index: { view } }) => {
    const index = read.get(id)
    return index ? [{ index, view }] : []
  })
}

/** Decides whether a version of the index matches a filter. */
type Match = (index: TurnIndex, version: number) => boolean

/**
 * Returns the function of the filter; null if every version matches. Reads the matching versions from the database only
 * if the indexes do not contain all values that the filter compares.
 */
async function matcher(
  { pool }: GatherDeps,
  tenant: string,
  conversationIds: readonly string[],
  filter: SearchFilter,
): Promise<Match | null> {
  if (isUnfiltered(filter)) return null
  if (isInMemory(filter)) return versionFilter(filter)
  const read = await readMatching(pool, tenant, conversationIds, filter)
  return ({ conversationId, versions }, version) => read.get(conversationId)?.has(versions.seqs[version]!) ?? false
}

/**
 * Gathers candidates from conversations that are read completely.
 * @param isLarge whether to search only for the terms that `termsToSearch` selects for a large scope
 */
export async function gatherWhole(
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  { terms, vector, filter, limit, queryTurn }: SearchRequest,
  isLarge: boolean,
): Promise<GatheredTurns> {
  const ids = conversations.map(({ id }) => id)
  const [read, isMatch] = await Promise.all([
    readIndexes(deps, viewer, conversations, vector),
    matcher(deps, viewer.tenant, ids, filter),
  ])
  let sequences: Sequence[] = []
  const yieldIfDue = createYield()
  for (const { index, view } of read) {
    await yieldIfDue()
    sequences.push(withoutQueryTurn(queryTurn, searchIndex(index, view, terms, vector?.query ?? null, isMatch)))
  }
  let searchedTerms = terms.size
  if (isLarge) {
    const texts = sequences.reduce((sum, { turns }) => sum + turns.length, 0)
    const searched = termsToSearch(frequenciesOf(terms.size, sequences), texts)
    sequences = sequences.map((each) => ({ ...each, matches: matchesOfTerms(each.matches, searched) }))
    searchedTerms = searched.length
  }
  const statistics = statisticsOf(searchedTerms, sequences)
  const found = findBest(sequences, statistics, limit)
  return {
    sequences,
    statistics,
    participants: read.flatMap(({ index }) => index.participants),
    candidates: sequences.map((sequence, i) => withNeighbours(sequence, found[i]!)),
    vectorSearch: vector ? 'EXACT' : 'NONE',
  }
}

/**
 * Returns the turns of the index in the view, with their occurrences of the requested terms and their cosines.
 * @param query the query's vector; null for none
 */
function searchIndex(
  index: TurnIndex,
  view: View,
  terms: QueryTerms,
  query: Float32Array | null,
  isMatch: Match | null,
): Sequence {
  const visible = visibleTurns(index, view)
  const { versions: turns } = visible
  const eligible = new Uint8Array(turns.length)
  if (isMatch === null) eligible.fill(1)
  else for (let place = 0; place < turns.length; place++) if (isMatch(index, turns[place]!)) eligible[place] = 1
  return {
    entries: index.versions,
    turns,
    eligible,
    similarities: cosines(index, turns, query),
    matches: findTerms(index, visible, terms),
  }
}

function findTerms({ postings }: TurnIndex, { places }: VisibleTurns, terms: QueryTerms): TermMatches {
  const byTerm = hashesOf(terms).map((hashes) => postingsOf(postings, hashes))
  const capacity = byTerm.reduce((sum, { versions }) => sum + versions.length, 0)
  const found = {
    starts: new Int32Array(terms.size + 1),
    places: new Int32Array(capacity),
    counts: new Int32Array(capacity),
  }
  let next = 0
  for (const [term, { versions, counts }] of byTerm.entries()) {
    for (let posting = 0; posting < versions.length; posting++) {
      const place = places[versions[posting]!]!
      if (place < 0) continue
      found.places[next] = place
      found.counts[next++] = counts[posting]!
    }
    found.starts[term + 1] = next
  }
  return { ...found, places: found.places.subarray(0, next), counts: found.counts.subarray(0, next) }
}

/** Returns the cosine of the query and each version; NaN if either has no vector. Vectors have length 1. */
function cosines({ vectors, rows }: TurnIndex, versions: Int32Array, query: Float32Array | null): Float64Array {
  const found = new Float64Array(versions.length)
  if (vectors === null || query === null) return found.fill(NaN)
  const byRow = productsByRow(vectors, query)
  for (let place = 0; place < versions.length; place++) {
    const row = rows[versions[place]!]!
    found[place] = row >= 0 ? byRow[row]! : NaN
  }
  return found
}

/**
 * Returns the places of the best turns in each sequence: the best `limit` by words and the best `limit` by vectors,
 * over all sequences.
 */
function findBest(sequences: readonly Sequence[], statistics: Statistics, limit: number): Set<number>[] {
  const idf = inverseDocumentFrequencies(statistics)
  const byWords = new Float64Array(statistics.texts)
  const byVectors = new Float64Array(statistics.texts)
  /** The offset of each sequence's turns in the scores, followed by the number of all turns. */
  const offsets = [0]
  for (const sequence of sequences) {
    const { eligible, similarities } = sequence
    const offset = offsets.at(-1)!
    addOwnScores(sequence, idf, statistics.averageLength, byWords, offset)
    for (let place = 0; place < eligible.length; place++) {
      // Shift every cosine above 0, because `best` ignores other scores, but dissimilar turns may fill the result.
      if (eligible[place] === 1) byVectors[offset + place] = similarities[place]! + 1 + 1e-6
    }
    offsets.push(offset + eligible.length)
  }
  const found = sequences.map(() => new Set<number>())
  let i = 0
  for (const at of [...best(byWords, limit), ...best(byVectors, limit)].sort((a, b) => a - b)) {
    while (at >= offsets[i + 1]!) i += 1
    found[i]!.add(at - offsets[i]!)
  }
  return found
}
