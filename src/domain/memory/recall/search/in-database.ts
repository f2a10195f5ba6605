// Searches a large scope (turns.ts) by words in the database, through the index of terms.

import { countTurns } from '../../../../store/sql/turn/count-turns.ts'
import { findTerms, type Posting } from '../../../../store/sql/memory/recall/find-terms.ts'
import { readIndex, type IndexedRange, type TurnRange } from '../../../../store/sql/memory/recall/read-index.ts'
import { readParticipants } from '../../../../store/sql/conversation/participant/read-participants.ts'
import type { ScopeConversation } from '../../../../store/sql/memory/recall/scope.ts'
import { versionKey, type TurnVersionId } from '../../../../store/vectors/vector-search.ts'
import { createYield } from '../../../../runtime/yield.ts'
import { seesAllPublic, type Viewer } from '../../../kernel/view.ts'
import { bm25, inverseDocumentFrequencies, REACH } from '../rank/bm25.ts'
import { SESSION_REACH, withNeighbours } from '../rank/features.ts'
import { toNamed } from '../rank/question.ts'
import { hashesOf, MAX_POSTINGS, termsToSearch, type QueryTerms } from './query.ts'
import { best, isOther, withoutQueryTurn, type GatherDeps, type SearchRequest, type TurnSearch } from './request.ts'
import { matchesOf, turnAtPlace, type Sequence } from '../index/sequence.ts'

/** Number of postings that are merged before the next call of `yieldIfDue`. */
const YIELD_AFTER = 256

/**
 * Returns the number of turns that the viewer sees. Uses the stored number of public turns of a conversation if the
 * viewer sees all of them and no private turns; counts the turns of the other conversations.
 */
async function countVisible(
  { pool }: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
): Promise<number> {
  const isCounter = ({ index: { view } }: ScopeConversation) => seesAllPublic(view) && !view.addressed
  const counters = conversations.filter(isCounter).reduce((sum, { publicTurns }) => sum + publicTurns, 0)
  const others = conversations.filter((each) => !isCounter(each)).map(({ id }) => id)
  if (others.length === 0) return counters
  const counted = await countTurns(pool, viewer, others)
  return [...counted.values()].reduce((sum, { turnCount }) => sum + turnCount, counters)
}

/**
 * Returns the turns that contain each term: one posting for each turn that contains any of the term's alternatives.
 * @param found the postings of each hash, in the order of `terms`
 */
async function byTerm(terms: QueryTerms, found: readonly Posting[][]): Promise<Posting[][]> {
  const lists = Array.from({ length: terms.size }, (): Posting[][] => [])
  for (const [place, [, index]] of [...terms].entries()) if (found[place]?.length) lists[index]!.push(found[place])
  const yieldIfDue = createYield()
  const postings: Posting[][] = []
  for (const alternatives of lists) {
    if (alternatives.length < 2) {
      postings.push(alternatives[0] ?? [])
      continue
    }
    const merged = new Map<string, Posting>()
    for (const [at, posting] of alternatives.flat().entries()) {
      const key = versionKey(posting)
      const other = merged.get(key)
      merged.set(key, other ? { ...posting, count: other.count + posting.count } : posting)
      if (at % YIELD_AFTER === 0) await yieldIfDue()
    }
    postings.push([...merged.values()])
  }
  return postings
}

/** Finds the turns that contain the terms of the request, and scores them. */
export async function searchInDatabase(
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  { terms, filter, limit, queryTurn }: SearchRequest,
): Promise<TurnSearch> {
  const hashes = [...terms].map(([hash]) => hash)
  const ids = conversations.map(({ id }) => id)
  const [found, counted] =
    terms.size === 0
      ? [[], 0]
      : await Promise.all([
          findTerms(deps.pool, viewer, ids, { terms: hashes, filter, limit: MAX_POSTINGS }),
          countVisible(deps, viewer, conversations),
        ])
  const read = await byTerm(terms, found)
  const postings = queryTurn ? read.map((each) => each.filter((turn) => isOther(queryTurn, turn))) : read
  const hasQueryTurn = postings.some((each, i) => each.length < read[i]!.length)
  const texts = counted - (hasQueryTurn ? 1 : 0)
  const frequencies = postings.map(({ length }) => length)
  const searched = termsToSearch(frequencies, texts)

  const matching = new Map<string, TurnVersionId & { counts: Map<number, number>; length: number; eligible: boolean }>()
  const yieldIfDue = createYield()
  for (const [number, index] of searched.entries()) {
    for (const [at, { count, ...version }] of postings[index]!.entries()) {
      const key = versionKey(version)
      let match = matching.get(key)
      if (!match) matching.set(key, (match = { ...version, counts: new Map() }))
      match.counts.set(number, count)
      if (at % YIELD_AFTER === 0) await yieldIfDue()
    }
  }
  const matches = [...matching.values()]
  const averageLength = matches.reduce((sum, { length }) => sum + length, 0) / (matches.length || 1) || 1
  const statistics = { texts, documentFrequencies: searched.map((index) => frequencies[index]!), averageLength }
  const idf = inverseDocumentFrequencies(statistics)
  const scores = matches.map(({ eligible, counts, length }) =>
    eligible ? bm25(idf, counts, length, averageLength) : 0,
  )
  const alternatives = hashesOf(terms)
  const numbers = new Map(searched.flatMap((index, number) => alternatives[index]!.map((hash) => [hash, number])))
  return {
    statistics,
    found: best(scores, limit).map((index) => matches[index]!),
    around: (turns) => readAround(deps, viewer, turns, { filter, queryTurn, numbers, count: searched.length }),
  }
}

/** Converts a range of index entries to a sequence without similarities. @param terms number of searched terms */
function toSequence({ turns: entries, counts, eligible }: IndexedRange, terms: number): Sequence {
  const size = eligible.length
  return {
    entries,
    turns: Int32Array.from({ length: size }, (_, place) => place),
    eligible,
    similarities: new Float64Array(size).fill(NaN),
    matches: matchesOf(counts, size, terms),
  }
}

/** A search by words. */
type WordSearch = Pick<SearchRequest, 'filter' | 'queryTurn'> & {
  /** The number of each searched term, by its hashes. */
  numbers: ReadonlyMap<number, number>
  /** Number of searched terms. */
  count: number
}

/**
 * Implements `around` of TurnSearch. Nearby turns share a sequence. A turn may be in several overlapping sequences.
 */
async function readAround(
  { pool }: GatherDeps,
  viewer: Viewer,
  turns: readonly TurnVersionId[],
  { filter, queryTurn, numbers, count }: WordSearch,
): ReturnType<TurnSearch['around']> {
  const keys = new Set(turns.map(versionKey))
  const ranges = rangesOf(turns)
  const [read, participants] = await Promise.all([
    readIndex(pool, viewer, ranges, { filter, terms: numbers }),
    readParticipants(pool, viewer, [...new Set(ranges.map(({ conversationId }) => conversationId))]),
  ])
  const sequences = read.map((each) => withoutQueryTurn(queryTurn, toSequence(each, count)))
  // Report a turn only in the sequence of its own range, because only this one contains all turns around it.
  const found = sequences.map((sequence, i) => {
    const { from, to } = ranges[i]!
    return [...sequence.turns.keys()].filter((place) => {
      const turn = turnAtPlace(sequence, place)
      return turn.position >= from && turn.position <= to && keys.has(versionKey(turn))
    })
  })
  return { sequences, candidates: candidatesIn(sequences, found), participants: participants.map(toNamed) }
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

/**
 * Returns the ranges of positions to read. Nearby turns share a range. A range also includes `around` turns on each
 * side, which complete the sessions of the neighbours. Only visible turns count, so others do not change the result.
 */
function rangesOf(versions: readonly TurnVersionId[]): TurnRange[] {
  const around = SESSION_REACH + REACH
  const sorted = versions.toSorted((a, b) =>
    a.conversationId < b.conversationId ? -1 : a.conversationId > b.conversationId ? 1 : a.position - b.position,
  )
  const ranges: TurnRange[] = []
  for (const { conversationId, position } of sorted) {
    const last = ranges.at(-1)
    if (last?.conversationId === conversationId && position - last.to <= 2 * around) last.to = position
    else ranges.push({ conversationId, from: position, to: position, around })
  }
  return ranges
}
