// Searches a wide scope by words in memory (word-cache.ts), in the viewer's view. Finds what words-in-database.ts finds,
// without a statement. Pure.

import type { SearchFilter, TurnVersionId } from '../../store/vector-search.ts'
import { createYield } from '../../yield.ts'
import type { View } from '../view.ts'
import { inverseDocumentFrequencies, normOf, REACH, termScore, type Statistics } from './bm25.ts'
import { SITTING_REACH } from './candidate.ts'
import { termsToSearch } from './query-terms.ts'
import { best, withoutQueryTurn, type SearchRequest, type TurnPlace, type WordSearch } from './search.ts'
import type { Sequence } from './sequence.ts'
import {
  postingsRange,
  ROLES,
  turnAt,
  versionAt,
  visibleWords,
  type VisibleVersions,
  type WordIndex,
} from './word-index.ts'

/** Number of conversations or sequences after which work checks whether to yield to the event loop. */
const YIELD_AFTER = 16

/** Whether the indexes contain what the filter compares. */
export const isInMemory = ({ metadata, writtenBy }: SearchFilter): boolean => metadata == null && writtenBy == null

/** A conversation in the viewer's view. Its versions are numbered from `offset` on, across all conversations. */
type Part = { index: WordIndex; visible: VisibleVersions; offset: number }

/** The turns that contain a searched term, without the query's turn. */
type Matches = {
  /** The number of each match, from 1, by the version's number; 0 for other versions. */
  numbers: Int32Array
  /** The part and the version of each match. */
  parts: number[]
  versions: number[]
  /** The occurrences of the searched terms in each match: as many counts as there are terms. */
  counts: Uint16Array
}

/** Returns a function that decides whether a version matches the filter. */
function matcher({ actors, roles, since, until }: SearchFilter): (index: WordIndex, version: number) => boolean {
  const isRole = roles && ROLES.map((role) => roles.includes(role))
  const isActor = actors && new Set(actors)
  return (index, version) =>
    (!isActor || isActor.has(index.names[index.actors[version]!]!))
    && (!isRole || isRole[index.roles[version]!]!)
    && (since == null || index.times[version]! >= since.getTime())
    && (until == null || index.times[version]! < until.getTime())
}

/** Whether the version is one of the query's turn. */
const isQuerys = ({ conversationId, positions }: WordIndex, version: number, queryTurn: TurnPlace | null) =>
  queryTurn !== null && positions[version] === queryTurn.position && conversationId === queryTurn.conversationId

/** Returns the number of visible turns that contain each term, and whether the query's turn contains one. */
function countTurns(parts: readonly Part[], hashes: readonly number[], queryTurn: TurnPlace | null) {
  let hasQueryTurn = false
  const frequencies = hashes.map((hash) => {
    let frequency = 0
    for (const { index, visible } of parts) {
      const [from, to] = postingsRange(index, hash)
      for (let posting = from; posting < to; posting++) {
        const version = index.postings[posting]!
        if (visible.places[version]! < 0) continue
        if (isQuerys(index, version, queryTurn)) hasQueryTurn = true
        else frequency += 1
      }
    }
    return frequency
  })
  return { frequencies, hasQueryTurn }
}

/** Collects the turns that contain the terms. @param capacity maximum number of such turns */
function collect(parts: readonly Part[], hashes: readonly number[], capacity: number, queryTurn: TurnPlace | null) {
  const last = parts.at(-1)
  const matches: Matches = {
    numbers: new Int32Array(last ? last.offset + last.index.seqs.length : 0),
    parts: [],
    versions: [],
    counts: new Uint16Array(capacity * hashes.length),
  }
  for (const [term, hash] of hashes.entries()) {
    for (const [part, { index, visible, offset }] of parts.entries()) {
      const [from, to] = postingsRange(index, hash)
      for (let posting = from; posting < to; posting++) {
        const version = index.postings[posting]!
        if (visible.places[version]! < 0 || isQuerys(index, version, queryTurn)) continue
        let number = matches.numbers[offset + version]!
        if (number === 0) {
          number = matches.versions.push(version)
          matches.parts.push(part)
          matches.numbers[offset + version] = number
        }
        matches.counts[(number - 1) * hashes.length + term] = index.counts[posting]!
      }
    }
  }
  return matches
}

/** Returns the BM25 score of each match without its neighbours; 0 for those that do not match the filter. */
function scoresOf(
  parts: readonly Part[],
  { parts: partOf, versions, counts }: Matches,
  { documentFrequencies, ...statistics }: Statistics,
  filter: SearchFilter,
): Float64Array {
  const idf = inverseDocumentFrequencies({ documentFrequencies, ...statistics })
  const isEligible = matcher(filter)
  const scores = new Float64Array(versions.length)
  for (let match = 0; match < versions.length; match++) {
    const { index } = parts[partOf[match]!]!
    if (!isEligible(index, versions[match]!)) continue
    const norm = normOf(index.lengths[versions[match]!]!, statistics.averageLength)
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
  isEligible: (index: WordIndex, version: number) => boolean,
): Sequence {
  const versions = visible.versions.subarray(first, last + 1)
  const starts = new Int32Array(versions.length + 1)
  const entries: [term: number, count: number][] = []
  const eligible = new Uint8Array(versions.length)
  for (let i = 0; i < versions.length; i++) {
    const version = versions[i]!
    eligible[i] = isEligible(index, version) ? 1 : 0
    const number = numbers[offset + version]!
    for (let term = 0; number > 0 && term < terms; term++) {
      const count = counts[(number - 1) * terms + term]!
      if (count > 0) entries.push([term, count])
    }
    starts[i + 1] = entries.length
  }
  return {
    turns: Array.from(versions, (version) => turnAt(index, version)),
    eligible,
    similarities: new Float64Array(versions.length),
    counts: {
      starts,
      terms: Int32Array.from(entries, ([term]) => term),
      counts: Int32Array.from(entries, ([, count]) => count),
    },
  }
}

/** Merges places into ranges that contain the places around them, as far as the sittings of neighbours reach. */
function rangesOf(places: readonly number[], size: number): { first: number; last: number; places: number[] }[] {
  const around = SITTING_REACH + REACH
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

/** Searches the indexes in the views of their conversations. The filter must be one of those that isInMemory accepts. */
export function searchInMemory(
  indexes: readonly WordIndex[],
  views: ReadonlyMap<string, View>,
  { terms, filter, limit, queryTurn }: SearchRequest,
): WordSearch {
  const parts: Part[] = []
  let [offset, visibleTurns] = [0, 0]
  for (const index of indexes) {
    const visible = visibleWords(index, views.get(index.conversationId)!)
    parts.push({ index, visible, offset })
    offset += index.seqs.length
    visibleTurns += visible.versions.length
  }
  const hashes = [...terms.keys()]
  const { frequencies, hasQueryTurn } = countTurns(parts, hashes, queryTurn)
  const texts = visibleTurns - (hasQueryTurn ? 1 : 0)
  const searched = termsToSearch(frequencies, texts)
  const documentFrequencies = searched.map((index) => frequencies[index]!)
  const matches = collect(
    parts,
    searched.map((index) => hashes[index]!),
    documentFrequencies.reduce((sum, frequency) => sum + frequency, 0),
    queryTurn,
  )
  const { parts: partOf, versions } = matches
  const length = versions.reduce((sum, version, i) => sum + parts[partOf[i]!]!.index.lengths[version]!, 0)
  const statistics = { texts, documentFrequencies, averageLength: length / (versions.length || 1) || 1 }
  const found = best(scoresOf(parts, matches, statistics, filter), limit).map((match): TurnVersionId => {
    const { conversationId, positions, seqs } = parts[partOf[match]!]!.index
    return { conversationId, position: positions[versions[match]!]!, seq: seqs[versions[match]!]! }
  })
  return { statistics, found, around: (turns) => around(parts, matches, searched.length, turns, { filter, queryTurn }) }
}

/** See WordSearch. */
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
    // A turn that was written or changed after the indexes were read is found by the next recall.
    const place = version < 0 ? -1 : part!.visible.places[version]!
    if (place >= 0) places.set(part!, [...(places.get(part!) ?? []), place])
  }
  const isEligible = matcher(filter)
  const sequences: Sequence[] = []
  const found: number[][] = []
  const yieldIfDue = createYield()
  for (const [part, own] of places) {
    for (const { first, last, places: inRange } of rangesOf(own, part.visible.versions.length)) {
      if (sequences.length % YIELD_AFTER === 0) await yieldIfDue()
      const sequence = sequenceOf(part, first, last, matches, terms, isEligible)
      const keys = new Set(inRange.map((place) => sequence.turns[place - first]!.position))
      sequences.push(withoutQueryTurn(queryTurn, sequence))
      found.push(sequences.at(-1)!.turns.flatMap(({ position }, index) => (keys.has(position) ? [index] : [])))
    }
  }
  return { sequences, found, participants: [...places.keys()].flatMap(({ index }) => index.participants) }
}
