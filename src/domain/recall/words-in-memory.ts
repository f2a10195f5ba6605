// Searches a large scope (gather.ts) by words in memory (word-cache.ts), limited to the viewer's view. Finds the same
// turns as words-in-database.ts, without a database query. Pure.

import type { SearchFilter, TurnVersionId } from '../../store/vector-search.ts'
import { createYield } from '../../yield.ts'
import type { View } from '../view.ts'
import { inverseDocumentFrequencies, normOf, REACH, termScore, type Statistics } from './bm25.ts'
import { SESSION_REACH } from './candidate.ts'
import { hashesOf, termsToSearch } from './query-terms.ts'
import { best, withoutQueryTurn, type SearchRequest, type TurnPlace, type WordSearch } from './search.ts'
import { MatchCollector, type Sequence } from './sequence.ts'
import { postingsOf, type TermPostings } from './postings.ts'
import { versionAt, versionFilter, visibleTurns, type TurnIndex, type VisibleTurns } from './turn-index.ts'

/** Number of sequences after which `around` checks whether to yield to the event loop. */
const YIELD_AFTER = 16

/**
 * A conversation in the viewer's view. The versions of all parts are numbered together, those of this part from
 * `offset`.
 */
type Part = { index: TurnIndex; visible: VisibleTurns; offset: number }

/** The turns that contain a searched term, without the query's turn. */
type Matches = {
  /** The number of each match, from 1, by the version's number; 0 for other versions. */
  numbers: Int32Array
  /** The index of each match's part. */
  parts: number[]
  /** The index of each match's version in its part. */
  versions: number[]
  /** The number of occurrences of each searched term in each match. The counts of a match are consecutive. */
  counts: Uint16Array
}

/** Whether the version belongs to the query's turn. */
const isOfQueryTurn = ({ conversationId, versions }: TurnIndex, version: number, queryTurn: TurnPlace | null) =>
  queryTurn !== null
  && versions.positions[version] === queryTurn.position
  && conversationId === queryTurn.conversationId

/** The postings of a term in each part. */
type PartPostings = readonly TermPostings[]

/** Returns the number of visible turns that contain each term, and whether the query's turn contains any of them. */
function countTurns(parts: readonly Part[], terms: readonly PartPostings[], queryTurn: TurnPlace | null) {
  let hasQueryTurn = false
  const frequencies = terms.map((postings) => {
    let frequency = 0
    for (const [part, { index, visible }] of parts.entries()) {
      const { versions } = postings[part]!
      for (let posting = 0; posting < versions.length; posting++) {
        const version = versions[posting]!
        if (visible.places[version]! < 0) continue
        if (isOfQueryTurn(index, version, queryTurn)) hasQueryTurn = true
        else frequency += 1
      }
    }
    return frequency
  })
  return { frequencies, hasQueryTurn }
}

/** Collects the turns that contain the terms. @param capacity maximum number of such turns */
function collect(
  parts: readonly Part[],
  terms: readonly PartPostings[],
  capacity: number,
  queryTurn: TurnPlace | null,
) {
  const last = parts.at(-1)
  const matches: Matches = {
    numbers: new Int32Array(last ? last.offset + last.index.rows.length : 0),
    parts: [],
    versions: [],
    counts: new Uint16Array(capacity * terms.length),
  }
  for (const [term, postings] of terms.entries()) {
    for (const [part, { index, visible, offset }] of parts.entries()) {
      const { versions, counts } = postings[part]!
      for (let posting = 0; posting < versions.length; posting++) {
        const version = versions[posting]!
        if (visible.places[version]! < 0 || isOfQueryTurn(index, version, queryTurn)) continue
        let number = matches.numbers[offset + version]!
        if (number === 0) {
          number = matches.versions.push(version)
          matches.parts.push(part)
          matches.numbers[offset + version] = number
        }
        matches.counts[(number - 1) * terms.length + term] = counts[posting]!
      }
    }
  }
  return matches
}

/** Returns the BM25 score of each match without its neighbours; 0 for turns excluded by the filter. */
function scoresOf(
  parts: readonly Part[],
  { parts: partOf, versions, counts }: Matches,
  { documentFrequencies, ...statistics }: Statistics,
  filter: SearchFilter,
): Float64Array {
  const idf = inverseDocumentFrequencies({ documentFrequencies, ...statistics })
  const isEligible = versionFilter(filter)
  const scores = new Float64Array(versions.length)
  for (let match = 0; match < versions.length; match++) {
    const { index } = parts[partOf[match]!]!
    if (!isEligible(index, versions[match]!)) continue
    const norm = normOf(index.versions.lengths[versions[match]!]!, statistics.averageLength)
    for (let term = 0; term < idf.length; term++) {
      const count = counts[match * idf.length + term]!
      if (count > 0) scores[match]! += termScore(idf[term]!, count, norm)
    }
  }
  return scores
}

/** Returns the sequence of the visible turns from place `first` to place `last`. */
function sequenceOf(
  { index, visible, offset }: Part,
  first: number,
  last: number,
  { numbers, counts }: Matches,
  terms: number,
  isEligible: (index: TurnIndex, version: number) => boolean,
): Sequence {
  const turns = visible.versions.subarray(first, last + 1)
  const found = new MatchCollector()
  for (let term = 0; term < terms; term++) {
    for (let place = 0; place < turns.length; place++) {
      const number = numbers[offset + turns[place]!]!
      const count = number > 0 ? counts[(number - 1) * terms + term]! : 0
      if (count > 0) found.add(place, count)
    }
    found.endTerm()
  }
  return {
    entries: index.versions,
    turns,
    eligible: Uint8Array.from(turns, (version) => (isEligible(index, version) ? 1 : 0)),
    similarities: new Float64Array(turns.length),
    matches: found.finish(),
  }
}

/** Returns ranges that contain the places and the turns around them that the sessions of their neighbours need. */
function rangesOf(places: readonly number[], size: number): { first: number; last: number; places: number[] }[] {
  const around = SESSION_REACH + REACH
  const ranges: { first: number; last: number; places: number[] }[] = []
  for (const place of places.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    const last = Math.min(size - 1, place + around)
    if (range && place - around <= range.last + 1) {
      range.last = last
      range.places.push(place)
    } else ranges.push({ first: Math.max(0, place - around), last, places: [place] })
  }
  return ranges
}

/**
 * Searches the indexes of conversations. `isInMemory` must be true for the filter.
 * @param views the viewer's view of each conversation, by id
 */
export function searchInMemory(
  indexes: readonly TurnIndex[],
  views: ReadonlyMap<string, View>,
  { terms, filter, limit, queryTurn }: SearchRequest,
): WordSearch {
  const parts: Part[] = []
  let [offset, texts] = [0, 0]
  for (const index of indexes) {
    const visible = visibleTurns(index, views.get(index.conversationId)!)
    parts.push({ index, visible, offset })
    offset += index.rows.length
    texts += visible.versions.length
  }
  const postings = hashesOf(terms).map((hashes) => parts.map(({ index }) => postingsOf(index.postings, hashes)))
  const { frequencies, hasQueryTurn } = countTurns(parts, postings, queryTurn)
  if (hasQueryTurn) texts -= 1
  const searched = termsToSearch(frequencies, texts)
  const documentFrequencies = searched.map((index) => frequencies[index]!)
  const matches = collect(
    parts,
    searched.map((index) => postings[index]!),
    documentFrequencies.reduce((sum, frequency) => sum + frequency, 0),
    queryTurn,
  )
  const { parts: partOf, versions } = matches
  const length = versions.reduce((sum, version, i) => sum + parts[partOf[i]!]!.index.versions.lengths[version]!, 0)
  const statistics = { texts, documentFrequencies, averageLength: length / (versions.length || 1) || 1 }
  const found = best(scoresOf(parts, matches, statistics, filter), limit).map((match): TurnVersionId => {
    const { conversationId, positions, seqs } = parts[partOf[match]!]!.index.versions
    return { conversationId, position: positions[versions[match]!]!, seq: seqs[versions[match]!]! }
  })
  return { statistics, found, around: (turns) => around(parts, matches, searched.length, turns, { filter, queryTurn }) }
}

/** Implements `around` of WordSearch. */
async function around(
  parts: readonly Part[],
  matches: Matches,
  terms: number,
  turns: readonly TurnVersionId[],
  { filter, queryTurn }: Pick<SearchRequest, 'filter' | 'queryTurn'>,
): ReturnType<WordSearch['around']> {
  const partOf = new Map(parts.map((part) => [part.index.conversationId, part]))
  const places = new Map<Part, number[]>()
  for (const { conversationId, position, seq } of turns) {
    const part = partOf.get(conversationId)
    const version = part ? versionAt(part.index, position, seq) : -1
    // Omit a turn that was written or changed after the indexes were read. The next recall finds it.
    const place = version < 0 ? -1 : part!.visible.places[version]!
    if (place >= 0) places.set(part!, [...(places.get(part!) ?? []), place])
  }
  const isEligible = versionFilter(filter)
  const sequences: Sequence[] = []
  const found: number[][] = []
  const yieldIfDue = createYield()
  for (const [part, own] of places) {
    for (const { first, last, places: inRange } of rangesOf(own, part.visible.versions.length)) {
      if (sequences.length % YIELD_AFTER === 0) await yieldIfDue()
      const sequence = sequenceOf(part, first, last, matches, terms, isEligible)
      const versions = new Set(inRange.map((place) => sequence.turns[place - first]!))
      const rest = withoutQueryTurn(queryTurn, sequence)
      sequences.push(rest)
      found.push([...rest.turns.keys()].filter((place) => versions.has(rest.turns[place]!)))
    }
  }
  return { sequences, found, participants: [...places.keys()].flatMap(({ index }) => index.participants) }
}
