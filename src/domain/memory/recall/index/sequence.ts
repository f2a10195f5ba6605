// Defines sequences. A sequence contains consecutive turns of one conversation, as a viewer sees them, and the terms
// and similarities that a search found in them. Pure.

import { turnAt, type IndexedTurn, type IndexedTurns } from '../../../../store/sql/memory/recall/indexed-turns.ts'
import type { TermCounts } from '../../../../text/words/hashed-terms.ts'

/** Each turn has a place, which is its index in the sequence: 0 and up, in order of the turns' positions. */
export type Sequence = {
  entries: IndexedTurns
  /** By place: the turn's index in `entries`. Must not change, because `sessionsOf` caches the sessions by it. */
  turns: Int32Array
  /** By place: 1 if the turn matches the filter, otherwise 0. */
  eligible: Uint8Array
  /** By place: cosine of the query and the turn; NaN if either has no vector. */
  similarities: Float64Array
  matches: TermMatches
}

/** The occurrences of the requested terms in a sequence. A match is a turn that contains a term. */
export type TermMatches = {
  /** Index of each term's first match, followed by the number of all matches. */
  starts: Int32Array
  /** The place of each match's turn, ascending for each term. */
  places: Int32Array
  /** The number of occurrences of the term in each match's turn. */
  counts: Int32Array
}

/** Collects TermMatches term by term: call `add` for each match of a term, then `endTerm`. */
class MatchCollector {
  readonly #starts = [0]
  readonly #places: number[] = []
  readonly #counts: number[] = []

  /** Adds a match of the current term. Places must ascend. */
  add(place: number, count: number): void {
    this.#places.push(place)
    this.#counts.push(count)
  }

  endTerm(): void {
    this.#starts.push(this.#places.length)
  }

  finish(): TermMatches {
    return {
      starts: new Int32Array(this.#starts),
      places: new Int32Array(this.#places),
      counts: new Int32Array(this.#counts),
    }
  }
}

/**
 * Converts counts by text to matches by term. The place of a match is the index of its text.
 * @param texts number of texts @param terms number of terms
 */
export function matchesOf(found: TermCounts, texts: number, terms: number): TermMatches {
  const entries = found.starts[texts]!
  const starts = new Int32Array(terms + 1)
  for (let entry = 0; entry < entries; entry++) starts[found.terms[entry]! + 1]! += 1
  for (let term = 0; term < terms; term++) starts[term + 1]! += starts[term]!
  const next = starts.slice()
  const places = new Int32Array(entries)
  const counts = new Int32Array(entries)
  for (let place = 0; place < texts; place++) {
    for (let entry = found.starts[place]!; entry < found.starts[place + 1]!; entry++) {
      const match = next[found.terms[entry]!]!++
      places[match] = place
      counts[match] = found.counts[entry]!
    }
  }
  return { starts, places, counts }
}

/** Returns the matches of the given terms only. The terms are then numbered in the order of `terms`. */
export function matchesOfTerms({ starts, places, counts }: TermMatches, terms: readonly number[]): TermMatches {
  const newStarts = new Int32Array(terms.length + 1)
  for (const [index, term] of terms.entries()) {
    newStarts[index + 1] = newStarts[index]! + starts[term + 1]! - starts[term]!
  }
  const size = newStarts[terms.length]!
  const found = { starts: newStarts, places: new Int32Array(size), counts: new Int32Array(size) }
  for (const [index, term] of terms.entries()) {
    found.places.set(places.subarray(starts[term], starts[term + 1]), newStarts[index])
    found.counts.set(counts.subarray(starts[term], starts[term + 1]), newStarts[index])
  }
  return found
}

export const turnAtPlace = ({ entries, turns }: Sequence, place: number): IndexedTurn => turnAt(entries, turns[place]!)

/** Returns the array without the element at `index`. */
function without<A extends Int32Array | Float64Array | Uint8Array>(array: A, index: number): A {
  const left = array.slice(0, -1) as A
  left.set(array.subarray(index + 1), index)
  return left
}

/** Returns the sequence without the turn at `place`. */
export function withoutTurn({ matches, ...sequence }: Sequence, place: number): Sequence {
  const left = new MatchCollector()
  for (let term = 0; term < matches.starts.length - 1; term++) {
    for (let match = matches.starts[term]!; match < matches.starts[term + 1]!; match++) {
      const at = matches.places[match]!
      if (at !== place) left.add(at > place ? at - 1 : at, matches.counts[match]!)
    }
    left.endTerm()
  }
  return {
    entries: sequence.entries,
    turns: without(sequence.turns, place),
    eligible: without(sequence.eligible, place),
    similarities: without(sequence.similarities, place),
    matches: left.finish(),
  }
}

/** Minimum time between two consecutive turns that separates two sessions, in milliseconds. */
export const SESSION_GAP_MS = 60 * 60 * 1000

/** By place: the first and the last place of the turn's session. A session is a run of turns without long gaps. */
export type Sessions = { first: Int32Array; last: Int32Array }

/** The sessions of the turns of a sequence. Recalls of a conversation in the same view share the turns. */
const knownSessions = new WeakMap<Int32Array, Sessions>()

/** Returns the sessions of the sequence. */
export function sessionsOf({ entries, turns }: Pick<Sequence, 'entries' | 'turns'>): Sessions {
  let sessions = knownSessions.get(turns)
  if (!sessions) knownSessions.set(turns, (sessions = findSessions(entries.times, turns)))
  return sessions
}

function findSessions(times: Float64Array, turns: Int32Array): Sessions {
  const first = new Int32Array(turns.length)
  const last = new Int32Array(turns.length)
  for (let place = 1; place < turns.length; place++) {
    const gap = Math.abs(times[turns[place]!]! - times[turns[place - 1]!]!)
    first[place] = gap < SESSION_GAP_MS ? first[place - 1]! : place
  }
  for (let place = turns.length - 1; place >= 0; place--) {
    const isLast = place === turns.length - 1 || first[place + 1] === place + 1
    last[place] = isLast ? place : last[place + 1]!
  }
  return { first, last }
}
