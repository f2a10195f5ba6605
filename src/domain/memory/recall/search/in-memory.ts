// Searches the indexes of conversations in memory (index-cache.ts), limited to the viewer's view, by words and, if the
// indexes contain vectors, by vectors. Finds the same turns as in-database.ts, without a database query.

import { createYield } from '../../../../runtime/yield.ts'
import type { View } from '../../../kernel/view.ts'
import { inverseDocumentFrequencies, type Statistics } from '../rank/bm25.ts'
import { addOwnScores, frequenciesOf, statisticsOf, withNeighbours } from '../rank/features.ts'
import { postingsOf } from '../index/postings.ts'
import { hashesOf, termsToSearch } from './query.ts'
import { best, withoutQueryTurn, type SearchRequest, type TurnSearch } from './request.ts'
import { matchesOfTerms, turnAtPlace, type Sequence, type TermMatches } from '../index/sequence.ts'
import { versionAt, visibleTurns, type TurnIndex, type VisibleTurns } from '../index/turn-index.ts'
import { productsByRow } from '../index/vector-blocks.ts'

/** Decides whether a version of an index matches the filter. */
export type Match = (index: TurnIndex, version: number) => boolean

export type MemorySearch = {
  indexes: readonly TurnIndex[]
  /** The viewer's view of each conversation, by id. */
  views: ReadonlyMap<string, View>
  /** Null if all versions match the filter. */
  isMatch: Match | null
  /** Whether to search only for the terms that `termsToSearch` selects for a large scope. */
  isLarge: boolean
  /** The query's vector, which is compared with those of the indexes; null to search only by words. */
  vector: Float32Array | null
}

/** A conversation, and the turns that the viewer sees, without the query's turn. */
type Part = { index: TurnIndex; visible: VisibleTurns; sequence: Sequence }

/** Searches the indexes. `found` of the result are the best turns by words and those by vectors. */
export async function searchInMemory(
  { indexes, views, isMatch, isLarge, vector }: MemorySearch,
  { terms, limit, queryTurn }: SearchRequest,
): Promise<TurnSearch> {
  const hashes = hashesOf(terms)
  const parts: Part[] = []
  const yieldIfDue = createYield()
  for (const index of indexes) {
    await yieldIfDue()
    const visible = visibleTurns(index, views.get(index.conversationId)!)
    const sequence: Sequence = {
      entries: index.versions,
      turns: visible.versions,
      eligible: eligibleIn(index, visible, isMatch),
      similarities: cosines(index, visible, vector),
      matches: findTerms(index, visible, hashes),
    }
    parts.push({ index, visible, sequence: withoutQueryTurn(queryTurn, sequence) })
  }
  let sequences = parts.map(({ sequence }) => sequence)
  let searchedTerms = terms.size
  if (isLarge) {
    const texts = sequences.reduce((sum, { turns }) => sum + turns.length, 0)
    const searched = termsToSearch(frequenciesOf(terms.size, sequences), texts)
    for (const part of parts)
      part.sequence = { ...part.sequence, matches: matchesOfTerms(part.sequence.matches, searched) }
    sequences = parts.map(({ sequence }) => sequence)
    searchedTerms = searched.length
  }
  const statistics = statisticsOf(searchedTerms, sequences)
  const scores = [wordScores(sequences, statistics), ...(vector ? [vectorScores(sequences, statistics.texts)] : [])]
  return {
    statistics,
    found: placesOf(sequences, new Set(scores.flatMap((each) => best(each, limit)))).map(({ sequence, place }) =>
      turnAtPlace(sequence, place),
    ),
    around: async (turns) => around(parts, turns),
  }
}

function eligibleIn(index: TurnIndex, { versions }: VisibleTurns, isMatch: Match | null): Uint8Array {
  const eligible = new Uint8Array(versions.length)
  if (isMatch === null) return eligible.fill(1)
  for (let place = 0; place < versions.length; place++) if (isMatch(index, versions[place]!)) eligible[place] = 1
  return eligible
}

/** Finds the visible turns that contain each term. @param terms the hashes of each term's alternatives */
function findTerms({ postings }: TurnIndex, { places }: VisibleTurns, terms: readonly number[][]): TermMatches {
  const byTerm = terms.map((hashes) => postingsOf(postings, hashes))
  const capacity = byTerm.reduce((sum, { versions }) => sum + versions.length, 0)
  const found = {
    starts: new Int32Array(terms.length + 1),
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

/** Returns the cosine of the query and each turn; NaN if either has no vector. Vectors have length 1. */
function cosines({ vectors, rows }: TurnIndex, { versions }: VisibleTurns, query: Float32Array | null): Float64Array {
  const found = new Float64Array(versions.length)
  if (vectors === null || query === null) return found.fill(NaN)
  const byRow = productsByRow(vectors, query)
  for (let place = 0; place < versions.length; place++) {
    const row = rows[versions[place]!]!
    found[place] = row >= 0 ? byRow[row]! : NaN
  }
  return found
}

/** Returns the BM25 scores of the turns of all sequences without neighbours; 0 for turns excluded by the filter. */
function wordScores(sequences: readonly Sequence[], statistics: Statistics): Float64Array {
  const search = { idf: inverseDocumentFrequencies(statistics), averageLength: statistics.averageLength }
  const scores = new Float64Array(statistics.texts)
  let offset = 0
  for (const sequence of sequences) {
    addOwnScores(sequence, search, scores, offset)
    offset += sequence.turns.length
  }
  return scores
}

/** Returns the scores by vectors of the turns of all sequences; 0 for turns excluded by the filter. */
function vectorScores(sequences: readonly Sequence[], texts: number): Float64Array {
  const scores = new Float64Array(texts)
  let offset = 0
  for (const { eligible, similarities } of sequences) {
    for (let place = 0; place < eligible.length; place++) {
      // Shift every cosine above 0, because `best` ignores other scores, but dissimilar turns may fill the result.
      if (eligible[place] === 1) scores[offset + place] = similarities[place]! + 1 + 1e-6
    }
    offset += eligible.length
  }
  return scores
}

/** Returns the sequence and the place of turns that are numbered over all sequences. */
function placesOf(
  sequences: readonly Sequence[],
  numbers: ReadonlySet<number>,
): { sequence: Sequence; place: number }[] {
  let [i, offset] = [0, 0]
  return [...numbers]
    .sort((a, b) => a - b)
    .map((number) => {
      while (number >= offset + sequences[i]!.turns.length) offset += sequences[i++]!.turns.length
      return { sequence: sequences[i]!, place: number - offset }
    })
}

/** Implements `around` of TurnSearch. */
function around(
  parts: readonly Part[],
  turns: Parameters<TurnSearch['around']>[0],
): Awaited<ReturnType<TurnSearch['around']>> {
  const partOf = new Map(parts.map((part) => [part.index.conversationId, part]))
  const places = new Map<Part, number[]>()
  for (const { conversationId, position, seq } of turns) {
    const part = partOf.get(conversationId)
    // Omit a turn that was written or changed after the indexes were read. The next recall finds it.
    const place = part ? placeOf(part, versionAt(part.index, position, seq)) : -1
    if (place < 0) continue
    const found = places.get(part!)
    if (found) found.push(place)
    else places.set(part!, [place])
  }
  return {
    sequences: [...places.keys()].map(({ sequence }) => sequence),
    candidates: [...places].map(([{ sequence }, found]) => withNeighbours(sequence, found)),
    participants: [...places.keys()].flatMap(({ index }) => index.participants),
  }
}

/** Returns the place of the version in the part's sequence; -1 if it is not there. */
function placeOf({ visible, sequence: { turns } }: Part, version: number): number {
  const place = version < 0 ? -1 : visible.places[version]!
  // The sequence may lack one turn, the query's.
  return turns[place] === version ? place : turns[place - 1] === version ? place - 1 : -1
}
