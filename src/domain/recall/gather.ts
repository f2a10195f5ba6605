// Finds what may be recalled: candidates by words and by vectors, with what ranking needs to know of each. A small
// scope is read whole; of a wide one, only what its indexes lead to. Views hold in every statement: what the viewer
// does not see is no candidate, no neighbour and in no count.

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

/** A scope of so many entries is read whole: it has no more turns than entries. */
const WHOLE = 5_000
/**
 * Turns by words, and as many by vectors, whose surroundings are weighed at least; so with facts. More find no more.
 */
export const SIDE = 64
/** A term that more than this share of a wide scope's turns hold tells next to nothing, */
const COMMON = 0.1
/** nor does one that more turns hold than are worth reading. Where no other is left, as many are read of each. */
const MOST_POSTINGS = 10_000
/** Beyond every place. */
const END = 2 ** 31 - 1

/** A query's terms as hashes (index-entry.ts), each with its number. */
export type QueryTerms = ReadonlyMap<number, number>

/** A search, by words and by vectors. */
export type SearchRequest = {
  terms: QueryTerms
  /** The query's vector and its embedder; null if the query has no direction or the embedder is unavailable. */
  vector: { embedder: string; query: Float32Array } | null
  filter: SearchFilter
  /** Hits wanted. */
  k: number
}

export type GatheredTurns = {
  stretches: IndexedTurn[][]
  /** By stretch, places of the candidates. */
  candidates: number[][]
  statistics: Statistics
  similarity(turn: IndexedTurn): number | null
  /** Those of the conversations that the candidates are in. */
  participants: readonly ParticipantRow[]
  vectorSearch: 'EXACT' | 'APPROXIMATE' | 'NONE'
}

/** `whole`: entries of a scope that is read whole. */
export const gather = (
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly ScopeConversation[],
  request: SearchRequest,
  whole = WHOLE,
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

/** The first so many of the best, of those that score at all. */
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
      conversationIds.map((conversationId) => ({ conversationId, from: 0, to: END, around: 0 })),
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
    // Above −1, so that turns of any similarity fill up what is asked for.
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
  const [words, near] = await Promise.all([
    findByWords(deps, viewer, conversationIds, terms, filter, side),
    vector && vectors.nearest(vector.embedder, viewer, conversationIds, vector.query, side, filter),
  ])
  const found = new Map([...words.found, ...(near?.found ?? [])].map((place) => [placeKey(place), place]))
  const wanted = stretchesOf([...found.values()])
  const stretches = await readIndex(pool, viewer, wanted, filter, words.terms)
  // What stands around one stretch may be the middle of another, where more is known of it.
  const candidates = stretches.map((stretch, i) =>
    withNeighbours(
      stretch,
      (turn) => turn.rootSeq >= wanted[i]!.from && turn.rootSeq <= wanted[i]!.to && found.has(placeKey(turn)),
    ),
  )

  // Of the candidates and of those beside them; what the search found is asked again, which costs nothing to speak of.
  const compared = stretches.flatMap((stretch, i) => {
    const places = new Set(candidates[i]!.flatMap((index) => [index - 1, index, index + 1]))
    return [...places].flatMap((index) => stretch[index] ?? [])
  })
  const [similarities, participants] = await Promise.all([
    vector && compared.length ? vectors.of(vector.embedder, compared, vector.query) : null,
    readParticipants(pool, viewer.tenant, [...new Set(wanted.map(({ conversationId }) => conversationId))]),
  ])
  return {
    stretches,
    candidates,
    participants,
    statistics: words.statistics,
    similarity: (turn) => similarities?.get(placeKey(turn)) ?? null,
    vectorSearch: near?.how ?? 'NONE',
  }
}

/** The turns whose own words match best, what that was judged by, and the terms that were worth looking for. */
async function findByWords(
  { pool }: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  terms: QueryTerms,
  filter: SearchFilter,
  side: number,
): Promise<{ found: Place[]; terms: QueryTerms; statistics: Statistics }> {
  const nothing = { found: [], terms: new Map(), statistics: { texts: 0, holding: [], averageLength: 1 } }
  if (terms.size === 0) return nothing
  const [postings, counted] = await Promise.all([
    findTerms(pool, viewer, conversationIds, [...terms.keys()], MOST_POSTINGS, filter),
    countTurns(pool, viewer, conversationIds),
  ])
  const turns = [...counted.values()].reduce((sum, { turnCount }) => sum + turnCount, 0)
  const known = [...terms.keys()]
    .map((term, i) => ({ term, postings: postings[i]! }))
    .filter(({ postings }) => postings.length > 0)
  const rare = known.filter(({ postings }) => postings.length <= Math.min(COMMON * turns, MOST_POSTINGS - 1))
  const kept = rare.length ? rare : known

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
 * What has to be read of the conversations: from place to place where little lies between two, and around each end what
 * may be of the same sitting as a neighbour of it. So nothing depends on how much there is that the viewer does not
 * see.
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
