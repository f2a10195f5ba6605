// Finds candidate turns by words and by vectors, with the data that ranking needs. A small scope is read completely, a
// wide one through its indexes. Every statement applies the viewer's view: turns that the viewer does not see are never
// candidates or neighbours and are not counted.

import { countTurns } from '../../store/sql/turn/count-turns.ts'
import { findTerms } from '../../store/sql/recall/find-terms.ts'
import { readIndex, type IndexedTurn, type Stretch } from '../../store/sql/recall/read-index.ts'
import { readParticipants, type ParticipantRow } from '../../store/sql/participant/read-participants.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { placeKey, type Place, type SearchFilter } from '../../store/vector-search.ts'
import type { Platform } from '../platform.ts'
import type { Viewer } from '../view.ts'
import { bm25, rarities, REACH, type Statistics } from './bm25.ts'
import { ownScore, SITTING_REACH, statisticsOf, withNeighbours } from './candidate.ts'

/** Maximum number of journal entries (hence of turns) in a scope that is read completely. */
const WHOLE_ENTRIES = 5_000
/** Minimum number of turns (or facts) taken from each search, by words and by vectors. More do not improve the hits. */
export const SIDE = 64
/** A wide scope is not searched for terms that occur in more than this share of its turns, unless all terms do. */
const COMMON_SHARE = 0.1
/** Maximum number of turns found per term. Terms that reach it count as common too. */
const MAX_POSTINGS = 10_000
/** Greater than every root seq. */
const MAX_SEQ = 2 ** 31 - 1

/** Term numbers by term hash (term-hash.ts). */
export type QueryTerms = ReadonlyMap<number, number>

/** A search by words and by vectors. */
export type SearchRequest = {
  terms: QueryTerms
  /** The query's vector and its embedder; null if the vector is all zeros or the embedder is unavailable. */
  vector: { embedder: string; query: Float32Array } | null
  filter: SearchFilter
  /** Maximum number of hits. */
  k: number
}

export type GatheredTurns = {
  stretches: IndexedTurn[][]
  /** For each stretch, the indexes of its candidates. */
  candidates: number[][]
  statistics: Statistics
  /** Returns the cosine of the query and the turn; null if either has no vector. */
  similarity(turn: IndexedTurn): number | null
  /** Participants of the candidates' conversations. */
  participants: readonly ParticipantRow[]
  vectorSearch: 'EXACT' | 'APPROXIMATE' | 'NONE'
}

/** Gathers candidates. `whole`: maximum number of entries in a scope that is read completely. */
export const gather = (
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly ScopeConversation[],
  request: SearchRequest,
  whole = WHOLE_ENTRIES,
): Promise<GatheredTurns> =>
  conversationIds.reduce((sum, { lastSeq }) => sum + lastSeq, 0) <= whole
    ? gatherWhole(
        deps,
        viewer,
        conversationIds.map(({ id }) => id),
        request,
      )
    : gatherWide(
        deps,
        viewer,
        conversationIds.map(({ id }) => id),
        request,
      )

/** Returns the elements with positive scores, best first, at most `most`. */
const best = <T>(all: readonly T[], scoreOf: (each: T) => number, most: number): T[] =>
  all
    .map((each) => ({ each, score: scoreOf(each) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ each }) => each)

async function gatherWhole(
  { pool, vectors }: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  { terms, vector, filter, k }: SearchRequest,
): Promise<GatheredTurns> {
  const side = Math.max(SIDE, k)
  const [stretches, similarities, participants] = await Promise.all([
    readIndex(
      pool,
      viewer,
      conversationIds.map((conversationId) => ({ conversationId, from: 0, to: MAX_SEQ, around: 0 })),
      filter,
      terms,
    ),
    vector && vectors.scan(vector.embedder, conversationIds, vector.query),
    readParticipants(pool, viewer.tenant, conversationIds),
  ])
  const scope = stretches.flat()
  const statistics = statisticsOf(terms.size, scope)
  const similarity = ({ conversationId, seq }: IndexedTurn) => similarities?.get(conversationId)?.get(seq) ?? null

  const eligible = scope.filter((turn) => turn.eligible)
  const rarity = rarities(statistics)
  const found = new Set([
    ...best(eligible, (turn) => ownScore(rarity, statistics.averageLength, turn), side),
    // Scores are shifted above 0 for every turn with a vector, so that dissimilar turns may fill the result.
    ...best(eligible, (turn) => (similarity(turn) ?? -2) + 1 + 1e-6, side),
  ])
  return {
    stretches,
    statistics,
    similarity,
    participants,
    candidates: stretches.map((stretch) => withNeighbours(stretch, (turn) => found.has(turn))),
    vectorSearch: vector ? 'EXACT' : 'NONE',
  }
}

async function gatherWide(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  { terms, vector, filter, k }: SearchRequest,
): Promise<GatheredTurns> {
  const { pool, vectors } = deps
  const side = Math.max(SIDE, k)
  const [words, nearest] = await Promise.all([
    findByWords(deps, viewer, conversationIds, terms, filter, side),
    vector && vectors.nearest(vector.embedder, viewer, conversationIds, vector.query, side, filter),
  ])
  const found = new Map([...words.found, ...(nearest?.found ?? [])].map((turn) => [placeKey(turn), turn]))
  const ranges = stretchesOf([...found.values()])
  const stretches = await readIndex(pool, viewer, ranges, filter, words.terms)
  // A found turn may also be among the turns around another stretch. It becomes a candidate only in its own stretch,
  // which contains more of its neighbours.
  const candidates = stretches.map((stretch, i) =>
    withNeighbours(
      stretch,
      (turn) => turn.rootSeq >= ranges[i]!.from && turn.rootSeq <= ranges[i]!.to && found.has(placeKey(turn)),
    ),
  )

  // Ranking needs the similarities of the candidates and of the turns beside them. The search computed some of them;
  // computing them again is cheap.
  const compared = stretches.flatMap((stretch, i) => {
    const indexes = new Set(candidates[i]!.flatMap((index) => [index - 1, index, index + 1]))
    return [...indexes].flatMap((index) => stretch[index] ?? [])
  })
  const [similarities, participants] = await Promise.all([
    vector && compared.length ? vectors.of(vector.embedder, compared, vector.query) : null,
    readParticipants(pool, viewer.tenant, [...new Set(ranges.map(({ conversationId }) => conversationId))]),
  ])
  return {
    stretches,
    candidates,
    participants,
    statistics: words.statistics,
    similarity: (turn) => similarities?.get(placeKey(turn)) ?? null,
    vectorSearch: nearest?.how ?? 'NONE',
  }
}

/** Returns the turns whose own words match best, the terms that were searched for, and the statistics of the scope. */
async function findByWords(
  { pool }: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  terms: QueryTerms,
  filter: SearchFilter,
  side: number,
): Promise<{ found: Place[]; terms: QueryTerms; statistics: Statistics }> {
  const none = { found: [], terms: new Map(), statistics: { texts: 0, holding: [], averageLength: 1 } }
  if (terms.size === 0) return none
  const [postings, counted] = await Promise.all([
    findTerms(pool, viewer, conversationIds, [...terms.keys()], MAX_POSTINGS, filter),
    countTurns(pool, viewer, conversationIds),
  ])
  const turns = [...counted.values()].reduce((sum, { turnCount }) => sum + turnCount, 0)
  const present = [...terms.keys()]
    .map((term, i) => ({ term, postings: postings[i]! }))
    .filter(({ postings }) => postings.length > 0)
  const rare = present.filter(({ postings }) => postings.length <= Math.min(COMMON_SHARE * turns, MAX_POSTINGS - 1))
  const kept = rare.length ? rare : present

  const matching = new Map<string, Place & { counts: Map<number, number>; length: number; eligible: boolean }>()
  kept.forEach(({ postings }, term) => {
    for (const { count, ...place } of postings) {
      const key = placeKey(place)
      let match = matching.get(key)
      if (!match) matching.set(key, (match = { ...place, counts: new Map() }))
      match.counts.set(term, count)
    }
  })
  const matches = [...matching.values()]
  const averageLength = matches.reduce((sum, { length }) => sum + length, 0) / (matches.length || 1) || 1
  const statistics = { texts: turns, holding: kept.map(({ postings }) => postings.length), averageLength }
  const rarity = rarities(statistics)
  return {
    found: best(
      matches.filter(({ eligible }) => eligible),
      ({ counts, length }) => bm25(rarity, counts, length, averageLength),
      side,
    ),
    terms: new Map(kept.map(({ term }, number) => [term, number])),
    statistics,
  }
}

/**
 * Returns the ranges of root seqs to read. Nearby places share a range. The `around` turns on each side complete the
 * sittings of the neighbours; only visible turns are counted, so invisible turns do not change the result.
 */
function stretchesOf(places: readonly Place[]): Stretch[] {
  const around = SITTING_REACH + REACH
  const sorted = places.toSorted((a, b) =>
    a.conversationId < b.conversationId ? -1 : a.conversationId > b.conversationId ? 1 : a.rootSeq - b.rootSeq,
  )
  const stretches: Stretch[] = []
  for (const { conversationId, rootSeq } of sorted) {
    const last = stretches.at(-1)
    if (last?.conversationId === conversationId && rootSeq - last.to <= 2 * around) last.to = rootSeq
    else stretches.push({ conversationId, from: rootSeq, to: rootSeq, around })
  }
  return stretches
}
