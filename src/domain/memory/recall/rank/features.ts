// Computes the features by which turns are ranked, from the turns, their neighbours and their sessions. Pure. A place
// is the index of a turn in its Sequence. Works term by term on flat arrays, because most turns of a conversation can
// be candidates.

import type { IndexedTurn } from '../../../../store/sql/memory/recall/indexed-turns.ts'
import { Cue } from '../../indexing/cues.ts'
import { averageLengthWithNeighbours, normOf, REACH, termScore, weightAt, type Statistics } from './bm25.ts'
import type { RankCandidate } from './rank.ts'
import { sessionsOf, turnAtPlace, type Sequence, type Sessions } from '../index/sequence.ts'

/** Number of turns on each side, in the same session, whose words count as words of a turn's session. */
export const SESSION_REACH = 20
/**
 * Weight of each adjacent turn in `similarityWithNeighbours`; the turn itself has 1. Neighbours count, because a short
 * turn has little meaning alone.
 */
const NEIGHBOUR_WEIGHT = 0.5

/** Returns the number of turns of the scope that contain each query term. `terms` is the number of query terms. */
export function frequenciesOf(terms: number, scope: readonly Sequence[]): number[] {
  const frequencies = new Array<number>(terms).fill(0)
  for (const { matches } of scope) {
    for (let term = 0; term < terms; term++) frequencies[term]! += matches.starts[term + 1]! - matches.starts[term]!
  }
  return frequencies
}

/** Returns the statistics of a scope that is searched in memory. `terms` is the number of query terms. */
export function statisticsOf(terms: number, scope: readonly Sequence[]): Statistics {
  let [texts, matching, length] = [0, 0, 0]
  for (const { entries, turns, matches } of scope) {
    texts += turns.length
    const isCounted = new Uint8Array(turns.length)
    for (let match = 0; match < matches.places.length; match++) {
      const place = matches.places[match]!
      if (isCounted[place] === 1) continue
      isCounted[place] = 1
      matching += 1
      length += entries.lengths[turns[place]!]!
    }
  }
  const documentFrequencies = frequenciesOf(terms, scope)
  return { texts, documentFrequencies, averageLength: matching ? length / matching : 1 }
}

/**
 * Adds the BM25 score of each eligible turn, without its neighbours, to `scores`, at `offset` plus the turn's place.
 */
export function addOwnScores(
  { entries, turns, eligible, matches }: Sequence,
  { idf, averageLength }: Pick<TurnSearch, 'idf' | 'averageLength'>,
  scores: Float64Array,
  offset: number,
): void {
  for (const [term, weight] of idf.entries()) {
    for (let match = matches.starts[term]!; match < matches.starts[term + 1]!; match++) {
      const place = matches.places[match]!
      if (eligible[place] === 0) continue
      const norm = normOf(entries.lengths[turns[place]!]!, averageLength)
      scores[offset + place]! += termScore(weight, matches.counts[match]!, norm)
    }
  }
}

/**
 * Returns the places of the eligible turns among the found turns and their neighbours in the same session, ascending.
 * @param found places
 */
export function withNeighbours(sequence: Sequence, found: Iterable<number>): Int32Array {
  const { first, last } = sessionsOf(sequence)
  const isChosen = new Uint8Array(sequence.turns.length)
  let count = 0
  for (const place of found) {
    const to = Math.min(last[place]!, place + REACH)
    for (let at = Math.max(first[place]!, place - REACH); at <= to; at++) {
      if (sequence.eligible[at] === 0 || isChosen[at] === 1) continue
      isChosen[at] = 1
      count += 1
    }
  }
  const chosen = new Int32Array(count)
  for (let place = 0, next = 0; next < count; place++) if (isChosen[place] === 1) chosen[next++] = place
  return chosen
}

/** The properties of a search that the features of a turn depend on. */
export type TurnSearch = {
  /** Inverse document frequency of each query term, by the term's index. */
  idf: readonly number[]
  /** Average number of terms of the turns that contain a query term, without their neighbours. */
  averageLength: number
  /** Returns whether the query names this actor of the conversation. */
  namesActor(conversationId: string, actor: string): boolean
}

/**
 * The features of some turns of a sequence (see RankCandidate). Elements with the same index describe the same turn.
 */
export type TurnFeatures = {
  sequence: Sequence
  /** The places of the turns, ascending. */
  places: Int32Array
  bm25: Float64Array
  matched: Float64Array
  session: Float64Array
  own: Float64Array
  similarityWithNeighbours: Float64Array
  /** 1 for true, 0 for false. */
  named: Uint8Array
  answers: Uint8Array
  echo: Uint8Array
}

/** Minimum share of the query's terms in an echo. */
const ECHO_SHARE = 0.85
/** Maximum number of terms that an echo has in addition to those of the query: its actor's name, a greeting. */
const ECHO_TERMS = 4

/**
 * Whether a turn asks the query: a question that contains almost all of its terms and few others. It is often the turn
 * from which the query was copied. A longer turn may report something before it asks.
 * @param own share of the query's terms in the turn @param length number of terms of the turn
 */
const isEcho = (cues: number, own: number, length: number, queryTerms: number): boolean =>
  (cues & Cue.ASKS) !== 0 && own >= ECHO_SHARE && length <= queryTerms + ECHO_TERMS

/** Returns the features of the turns at `places`, which must be ascending. */
export function featuresOf(search: TurnSearch, sequence: Sequence, places: Int32Array): TurnFeatures {
  const sessions = sessionsOf(sequence)
  const features: TurnFeatures = {
    sequence,
    places,
    bm25: new Float64Array(places.length),
    matched: new Float64Array(places.length),
    session: new Float64Array(places.length),
    own: new Float64Array(places.length),
    similarityWithNeighbours: new Float64Array(places.length),
    named: new Uint8Array(places.length),
    answers: new Uint8Array(places.length),
    echo: new Uint8Array(places.length),
  }
  addWords(search, features, sessions)
  addSessionWords(search.idf, features, sessions)
  addSimilarities(features, sessions)
  const { entries, turns } = sequence
  const isNamed = entries.names.map((actor) => (search.namesActor(entries.conversationId, actor) ? 1 : 0))
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!
    features.named[i] = isNamed[entries.actors[turns[place]!]!]!
    if (place > sessions.first[place]! && (entries.cues[turns[place - 1]!]! & Cue.ASKS) !== 0) features.answers[i] = 1
    const turn = turns[place]!
    if (isEcho(entries.cues[turn]!, features.own[i]!, entries.lengths[turn]!, search.idf.length)) features.echo[i] = 1
  }
  return features
}

/** Returns the BM25 norm of each turn together with its neighbours. */
function normsOf({ averageLength }: TurnSearch, { sequence, places }: TurnFeatures, { first, last }: Sessions) {
  const { entries, turns } = sequence
  const average = averageLengthWithNeighbours(averageLength)
  const norms = new Float64Array(places.length)
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!
    const to = Math.min(last[place]!, place + REACH)
    let length = 0
    for (let at = Math.max(first[place]!, place - REACH); at <= to; at++) {
      length += weightAt(Math.abs(at - place)) * entries.lengths[turns[at]!]!
    }
    norms[i] = normOf(length, average)
  }
  return norms
}

/** Sets the features `bm25`, `matched` and `own`. */
function addWords(search: TurnSearch, features: TurnFeatures, sessions: Sessions): void {
  const { sequence, places, bm25, matched, own } = features
  const { starts, places: matching, counts } = sequence.matches
  const norms = normsOf(search, features, sessions)
  const totalIdf = search.idf.reduce((sum, weight) => sum + weight, 0)
  /** By place: 1 more than the turn's index in `places`; 0 for other turns. */
  const numbers = new Int32Array(sequence.turns.length)
  for (let i = 0; i < places.length; i++) numbers[places[i]!] = i + 1
  /** By index: occurrences of the term in the turn and its neighbours, weighted by distance. */
  const sums = new Float64Array(places.length)
  for (const [term, idf] of search.idf.entries()) {
    for (let match = starts[term]!; match < starts[term + 1]!; match++) {
      const place = matching[match]!
      const to = Math.min(sessions.last[place]!, place + REACH)
      for (let at = Math.max(sessions.first[place]!, place - REACH); at <= to; at++) {
        if (numbers[at]! > 0) sums[numbers[at]! - 1]! += weightAt(Math.abs(at - place)) * counts[match]!
      }
      if (totalIdf > 0 && numbers[place]! > 0) own[numbers[place]! - 1]! += idf / totalIdf
    }
    for (let i = 0; i < places.length; i++) {
      if (sums[i]! === 0) continue
      bm25[i]! += termScore(idf, sums[i]!, norms[i]!)
      matched[i]! += idf / totalIdf
      sums[i] = 0
    }
  }
}

/** Sets the feature `session`. */
function addSessionWords(
  idf: readonly number[],
  { sequence, places, session }: TurnFeatures,
  sessions: Sessions,
): void {
  const { starts, places: matching } = sequence.matches
  const totalIdf = idf.reduce((sum, weight) => sum + weight, 0)
  if (totalIdf === 0) return
  for (const [term, weight] of idf.entries()) {
    let match = starts[term]!
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!
      const from = Math.max(sessions.first[place]!, place - SESSION_REACH)
      const to = Math.min(sessions.last[place]!, place + SESSION_REACH)
      // `places` is ascending, and so is `from`. Hence `match` never has to move back.
      while (match < starts[term + 1]! && matching[match]! < from) match += 1
      if (match === starts[term + 1]!) break
      if (matching[match]! <= to) session[i]! += weight / totalIdf
    }
  }
}

/** Sets the feature `similarityWithNeighbours`. */
function addSimilarities(
  { sequence, places, similarityWithNeighbours }: TurnFeatures,
  { first, last }: Sessions,
): void {
  const { similarities } = sequence
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!
    const own = similarities[place]!
    let [total, weights] = [Number.isNaN(own) ? 0 : own, 1]
    for (let at = place - 1; at <= place + 1; at += 2) {
      if (at < first[place]! || at > last[place]! || Number.isNaN(similarities[at])) continue
      total += NEIGHBOUR_WEIGHT * similarities[at]!
      weights += NEIGHBOUR_WEIGHT
    }
    similarityWithNeighbours[i] = total / weights
  }
}

export type TurnCandidate = RankCandidate & { kind: 'TURN'; turn: IndexedTurn; sequence: Sequence; place: number }

/** Returns the candidate at the index `i` of the features. */
export function candidateAt(features: TurnFeatures, i: number): TurnCandidate {
  const { sequence, places } = features
  const place = places[i]!
  const turn = turnAtPlace(sequence, place)
  const similarity = sequence.similarities[place]!
  return {
    kind: 'TURN',
    turn,
    sequence,
    place,
    named: features.named[i] === 1,
    at: turn.at,
    cues: turn.cues,
    length: turn.length,
    bm25: features.bm25[i]!,
    matched: features.matched[i]!,
    session: features.session[i]!,
    own: features.own[i]!,
    similarity: Number.isNaN(similarity) ? null : similarity,
    similarityWithNeighbours: features.similarityWithNeighbours[i]!,
    answers: features.answers[i] === 1,
    echo: features.echo[i] === 1,
  }
}
