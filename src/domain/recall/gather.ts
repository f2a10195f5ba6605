// Finds candidate turns by words and by vectors, with the data that ranking needs. A small scope is read completely, a
// wide one through its indexes. Every statement applies the viewer's view: turns that the viewer does not see are never
// candidates or neighbours and are not counted.

import { countTurns } from '../../store/sql/turn/count-turns.ts'
import { findTerms } from '../../store/sql/recall/find-terms.ts'
import { readIndex, type TurnRange } from '../../store/sql/recall/read-index.ts'
import { readParticipants } from '../../store/sql/participant/read-participants.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { versionKey, type TurnVersionId } from '../../store/vector-search.ts'
import { createYield } from '../../yield.ts'
import type { Viewer } from '../view.ts'
import { bm25, inverseDocumentFrequencies, REACH, type Statistics } from './bm25.ts'
import { SITTING_REACH, withNeighbours } from './candidate.ts'
import { gatherWhole } from './gather-whole.ts'
import type { QueryTerms } from './query-terms.ts'
import { best, isOther, type GatherDeps, type GatheredTurns, type SearchRequest } from './search.ts'

/** Maximum number of public turns (committed, without an audience) in a scope that is read completely. */
const WHOLE_TURNS = 5_000
/**
 * Maximum number of journal entries in such a scope, as a multiple of its maximum number of turns. This bounds the
 * work, because private turns and older versions are read, too.
 */
const ENTRIES_PER_TURN = 2
/** A wide scope is not searched for terms that occur in more than this share of its turns, unless all terms do. */
const COMMON_SHARE = 0.1
/** Maximum number of turns found per term. A term that reaches it counts as common too. */
const MAX_POSTINGS = 10_000
/** Number of postings that are merged before the next call of `yieldIfDue`. */
const YIELD_AFTER = 256

/**
 * Whether the scope is read completely: it has at most `whole` public turns, and at most ENTRIES_PER_TURN times as many
 * entries. Private turns count only as entries, so they change the method, and slightly the ranking, only in a scope
 * with more than that many entries.
 */
export function isReadWhole(
  conversations: readonly Pick<ScopeConversation, 'lastSeq' | 'publicTurns'>[],
  whole = WHOLE_TURNS,
): boolean {
  const sum = (countOf: (each: (typeof conversations)[number]) => number) =>
    conversations.reduce((total, each) => total + countOf(each), 0)
  return sum(({ publicTurns }) => publicTurns) <= whole && sum(({ lastSeq }) => lastSeq) <= ENTRIES_PER_TURN * whole
}

/** Gathers candidates. `whole` is the maximum number of public turns in a scope that is read completely. */
export const gather = (
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  request: SearchRequest,
  whole = WHOLE_TURNS,
): Promise<GatheredTurns> =>
  isReadWhole(conversations, whole)
    ? gatherWhole(deps, viewer, conversations, request)
    : deps.gates.searches.run(viewer.tenant, () =>
        gatherWide(
          deps,
          viewer,
          conversations.map(({ id }) => id),
          request,
        ),
      )

async function gatherWide(
  deps: GatherDeps,
  viewer: Viewer,
  conversationIds: readonly string[],
  request: SearchRequest,
): Promise<GatheredTurns> {
  const { vector, filter, limit, queryTurn } = request
  const { pool, vectors } = deps
  const [words, nearest] = await Promise.all([
    findByWords(deps, viewer, conversationIds, request),
    vector
      && vectors.nearest(vector.embedder, viewer, conversationIds, vector.query, queryTurn ? limit + 1 : limit, filter),
  ])
  const others = [...words.found, ...(nearest?.found ?? [])].filter(isOther(queryTurn))
  const found = new Map(others.map((turn) => [versionKey(turn), turn]))
  const ranges = rangesOf([...found.values()])
  const read = await readIndex(pool, viewer, ranges, filter, words.terms)
  const sequences = queryTurn ? read.map((sequence) => sequence.filter(isOther(queryTurn))) : read
  // A found turn may also be among the turns around another range. It becomes a candidate only in the sequence of its
  // own range, which contains more of its neighbours.
  const candidates = sequences.map((sequence, i) =>
    withNeighbours(
      sequence,
      (turn) => turn.position >= ranges[i]!.from && turn.position <= ranges[i]!.to && found.has(versionKey(turn)),
    ),
  )

  // Ranking needs the similarities of the candidates and of the turns beside them. The search computed some of them;
  // computing them again is cheap.
  const compared = sequences.flatMap((sequence, i) => {
    const indexes = new Set(candidates[i]!.flatMap((index) => [index - 1, index, index + 1]))
    return [...indexes].flatMap((index) => sequence[index] ?? [])
  })
  const [similarities, participants] = await Promise.all([
    vector && compared.length ? vectors.compare(vector.embedder, viewer.tenant, compared, vector.query) : null,
    readParticipants(pool, viewer, [...new Set(ranges.map(({ conversationId }) => conversationId))]),
  ])
  return {
    sequences,
    candidates,
    participants,
    statistics: words.statistics,
    similarity: (turn) => similarities?.get(versionKey(turn)) ?? null,
    vectorSearch: nearest?.method ?? 'NONE',
  }
}

/** Returns the turns whose own words match best, the terms that were searched for, and the statistics of the scope. */
async function findByWords(
  { pool }: GatherDeps,
  viewer: Viewer,
  conversationIds: readonly string[],
  { terms, filter, limit, queryTurn }: SearchRequest,
): Promise<{ found: TurnVersionId[]; terms: QueryTerms; statistics: Statistics }> {
  const none = { found: [], terms: new Map(), statistics: { texts: 0, documentFrequencies: [], averageLength: 1 } }
  if (terms.size === 0) return none
  const [read, counted] = await Promise.all([
    findTerms(pool, viewer, conversationIds, [...terms.keys()], MAX_POSTINGS, filter),
    countTurns(pool, viewer, conversationIds),
  ])
  const postings = queryTurn ? read.map((each) => each.filter(isOther(queryTurn))) : read
  const isAmongThem = postings.some((each, i) => each.length < read[i]!.length)
  const turns = [...counted.values()].reduce((sum, { turnCount }) => sum + turnCount, 0) - (isAmongThem ? 1 : 0)
  const present = [...terms.keys()]
    .map((term, i) => ({ term, postings: postings[i]! }))
    .filter(({ postings }) => postings.length > 0)
  const rare = present.filter(({ postings }) => postings.length <= Math.min(COMMON_SHARE * turns, MAX_POSTINGS - 1))
  const kept = rare.length ? rare : present

  const matching = new Map<string, TurnVersionId & { counts: Map<number, number>; length: number; eligible: boolean }>()
  const yieldIfDue = createYield()
  for (const [term, { postings }] of kept.entries()) {
    for (const [at, { count, ...version }] of postings.entries()) {
      const key = versionKey(version)
      let match = matching.get(key)
      if (!match) matching.set(key, (match = { ...version, counts: new Map() }))
      match.counts.set(term, count)
      if (at % YIELD_AFTER === 0) await yieldIfDue()
    }
  }
  const matches = [...matching.values()]
  const averageLength = matches.reduce((sum, { length }) => sum + length, 0) / (matches.length || 1) || 1
  const statistics = { texts: turns, documentFrequencies: kept.map(({ postings }) => postings.length), averageLength }
  const idf = inverseDocumentFrequencies(statistics)
  return {
    found: best(
      matches.filter(({ eligible }) => eligible),
      ({ counts, length }) => bm25(idf, counts, length, averageLength),
      limit,
    ),
    terms: new Map(kept.map(({ term }, number) => [term, number])),
    statistics,
  }
}

/**
 * Returns the ranges of positions to read. Nearby turns share a range. The `around` turns on each side complete the
 * sittings of the neighbours; only visible turns are counted, so invisible turns do not change the result.
 */
function rangesOf(versions: readonly TurnVersionId[]): TurnRange[] {
  const around = SITTING_REACH + REACH
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
