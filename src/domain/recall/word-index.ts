// The words of one conversation, in memory: all versions of its turns in flat arrays, and for each term the versions
// that contain it. A tenth of the size of a TurnIndex, so that it serves scopes of a hundred thousand turns. Pure.

import { Role } from '../../store/generated/enums.ts'
import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import type { IndexedVersion, NamedParticipant, ReadIndex } from '../../store/sql/recall/read-turn-index.ts'
import { isOpenAt, sees, viewClass, type View } from '../view.ts'

/** What a word index was read at. */
export type WordState = { lastSeq: number; removedThrough: number }

/** The versions of a conversation's turns. Arrays with the same index describe the same version. */
type Versions = {
  /** Ascending; versions of one position by seq. */
  positions: Int32Array
  seqs: Int32Array
  /** Creation times, in ms since the epoch. */
  times: Float64Array
  tokens: Int32Array
  /** Bits of Cue, and COMMITTED. */
  flags: Int32Array
  /** Indexes in ROLES. */
  roles: Uint8Array
  /** Indexes in `names`. */
  actors: Uint16Array
  /** Numbers of terms, repetitions included. */
  lengths: Int32Array
}

/** The words of a conversation. Never changed: `updatedWords` returns a new one. */
export type WordIndex = WordState
  & Versions & {
    conversationId: string
    /** The actors of the versions. */
    names: readonly string[]
    /** The audiences of the versions that have one, by the version's index. */
    audiences: ReadonlyMap<number, readonly string[]>
    /** Hashes of the distinct terms, ascending as unsigned integers. */
    terms: Int32Array
    /** Index of each term's first posting, followed by the number of all postings. */
    starts: Int32Array
    /** Indexes of the versions with a term, and the numbers of its occurrences in each. */
    postings: Int32Array
    counts: Uint16Array
    participants: readonly NamedParticipant[]
    /** Estimated size in memory, in bytes. */
    bytes: number
    /** The versions that may be found, by viewClass. */
    visible: Map<string, VisibleVersions>
  }

/** The committed versions that a view contains, each the newest one of its turn in the view. */
export type VisibleVersions = {
  /** Their indexes, ascending. */
  versions: Int32Array
  /** For each version of the index: its place in `versions`, or -1. */
  places: Int32Array
}

export const ROLES = Object.values(Role)
/** A bit that Cue does not use. */
const COMMITTED = 256
/** Estimated memory of an index besides its arrays, and of a participant or an audience, in bytes. */
const INDEX_BYTES = 1_000
const OBJECT_BYTES = 200
/** Maximum number of classes of views whose visible versions are kept; the oldest is dropped. */
const MAX_VIEWS = 2
/** Maximum number of versions of an index, so that a term and a version fit a key of 53 bits. */
export const MAX_VERSIONS = 2 ** 21

const keyOf = (term: number, version: number) => (term >>> 0) * MAX_VERSIONS + version

/** Orders the kept versions of an index and new ones. An order below 0 is -1 minus the index of a new version. */
function ordered(before: WordIndex | null, dropped: ReadonlySet<number> | null, versions: readonly IndexedVersion[]) {
  const order: number[] = []
  const newer = [...versions.keys()].sort(
    (a, b) => versions[a]!.position - versions[b]!.position || versions[a]!.seq - versions[b]!.seq,
  )
  let next = 0
  const total = before?.seqs.length ?? 0
  for (let old = 0; old <= total; old++) {
    const position = old < total ? before!.positions[old]! : Infinity
    // A position is either kept or read anew with all its versions.
    while (next < newer.length && versions[newer[next]!]!.position < position) order.push(-1 - newer[next++]!)
    if (old < total && !dropped!.has(position)) order.push(old)
  }
  return order
}

/** Returns the columns of the versions in the order, and their actors and audiences. */
function columnsOf(before: WordIndex | null, versions: readonly IndexedVersion[], order: readonly number[]) {
  const size = order.length
  const columns: Versions = {
    positions: new Int32Array(size),
    seqs: new Int32Array(size),
    times: new Float64Array(size),
    tokens: new Int32Array(size),
    flags: new Int32Array(size),
    roles: new Uint8Array(size),
    actors: new Uint16Array(size),
    lengths: new Int32Array(size),
  }
  const names = [...(before?.names ?? [])]
  const numbers = new Map(names.map((name, number) => [name, number]))
  const numberOf = (name: string) => {
    let number = numbers.get(name)
    if (number === undefined) numbers.set(name, (number = names.push(name) - 1))
    return number
  }
  const audiences = new Map<number, readonly string[]>()
  const each = Object.keys(columns) as (keyof Versions)[]
  for (const [index, from] of order.entries()) {
    if (from >= 0) {
      for (const column of each) columns[column][index] = before![column][from]!
      const audience = before!.audiences.get(from)
      if (audience) audiences.set(index, audience)
      continue
    }
    const version = versions[-1 - from]!
    columns.positions[index] = version.position
    columns.seqs[index] = version.seq
    columns.times[index] = version.at
    columns.tokens[index] = version.tokens
    columns.flags[index] = version.cues + (version.isCommitted ? COMMITTED : 0)
    columns.roles[index] = ROLES.indexOf(version.role)
    columns.actors[index] = numberOf(version.actor)
    columns.lengths[index] = version.terms.length
    if (version.audience) audiences.set(index, version.audience)
  }
  return { columns, names, audiences }
}

/** Returns the postings of the versions in the order: those of `before` merged with those of the new versions. */
function postingsOf(before: WordIndex | null, versions: readonly IndexedVersion[], order: readonly number[]) {
  const moved = new Int32Array(before?.seqs.length ?? 0).fill(-1)
  const keys = new Float64Array(versions.reduce((sum, { terms }) => sum + terms.length, 0))
  let filled = 0
  for (const [index, from] of order.entries()) {
    if (from >= 0) moved[from] = index
    else for (const term of versions[-1 - from]!.terms) keys[filled++] = keyOf(term, index)
  }
  keys.sort()

  const capacity = (before?.postings.length ?? 0) + keys.length
  const terms = new Int32Array((before?.terms.length ?? 0) + keys.length)
  const starts = new Int32Array(terms.length + 1)
  const postings = new Int32Array(capacity)
  const counts = new Uint16Array(capacity)
  let [term, posting] = [0, 0]
  const add = (hash: number, version: number, count: number) => {
    if (term === 0 || terms[term - 1] !== hash) {
      starts[term] = posting
      terms[term++] = hash
    }
    postings[posting] = version
    counts[posting++] = Math.min(count, 65_535)
  }
  let next = 0
  /** Adds the new postings with keys below the limit. */
  const addBelow = (limit: number) => {
    while (next < keys.length && keys[next]! < limit) {
      const key = keys[next]!
      const first = next
      while (keys[next] === key) next += 1
      add(Math.floor(key / MAX_VERSIONS) | 0, key % MAX_VERSIONS, next - first)
    }
  }
  for (let t = 0; before && t < before.terms.length; t++) {
    for (let p = before.starts[t]!; p < before.starts[t + 1]!; p++) {
      const version = moved[before.postings[p]!]!
      if (version < 0) continue
      addBelow(keyOf(before.terms[t]!, version))
      add(before.terms[t]!, version, before.counts[p]!)
    }
  }
  addBelow(Infinity)
  starts[term] = posting
  return {
    terms: terms.slice(0, term),
    starts: starts.slice(0, term + 1),
    postings: postings.slice(0, posting),
    counts: counts.slice(0, posting),
  }
}

/** Returns the index after a read. @param before the index that the read continues; null after a read of everything */
export function updatedWords(conversationId: string, before: WordIndex | null, read: ReadIndex): WordIndex {
  const { versions, positions, participants, lastSeq, removedThrough } = read
  const order = ordered(before, positions, versions)
  const { columns, names, audiences } = columnsOf(before, versions, order)
  const postings = postingsOf(before, versions, order)
  const arrays = [...Object.values(columns), ...Object.values(postings)].reduce((sum, each) => sum + each.byteLength, 0)
  const objects = participants.length + audiences.size + names.length
  const views = MAX_VIEWS * 2 * 4 * order.length
  return {
    conversationId,
    lastSeq,
    removedThrough,
    ...columns,
    names,
    audiences,
    ...postings,
    participants,
    bytes: INDEX_BYTES + arrays + views + objects * OBJECT_BYTES,
    visible: new Map(),
  }
}

/** Whether the index was read in that state or later. The numbers of a state only grow. */
export const hasWordsOf = (index: WordState, state: WordState): boolean =>
  index.lastSeq >= state.lastSeq && index.removedThrough >= state.removedThrough

/** Whether the view contains the version, and no newer version of the same turn. */
function isVisible(index: WordIndex, view: View, version: number): boolean {
  const { positions, seqs, flags, audiences } = index
  if ((flags[version]! & COMMITTED) === 0) return false
  const position = positions[version]!
  if (!sees(view, { position, seq: seqs[version]!, audience: audiences.get(version) ?? null })) return false
  for (let newer = version + 1; positions[newer] === position; newer++) {
    if (isOpenAt(view.windows, seqs[newer]!)) return false
  }
  return true
}

export function visibleWords(index: WordIndex, view: View): VisibleVersions {
  const key = viewClass(view)
  const known = index.visible.get(key)
  if (known) return known
  const size = index.seqs.length
  const versions = new Int32Array(size)
  const places = new Int32Array(size)
  let count = 0
  for (let version = 0; version < size; version++) {
    const visible = isVisible(index, view, version)
    places[version] = visible ? count : -1
    if (visible) versions[count++] = version
  }
  const found = { versions: versions.subarray(0, count), places }
  if (index.visible.size >= MAX_VIEWS) index.visible.delete(index.visible.keys().next().value!)
  index.visible.set(key, found)
  return found
}

/** Returns the range of the term's postings; it is empty if no version has the term. */
export function postingsRange({ terms, starts }: WordIndex, term: number): [from: number, to: number] {
  let [low, high] = [0, terms.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (terms[middle]! >>> 0 < term >>> 0) low = middle + 1
    else high = middle
  }
  return terms[low] === term && low < terms.length ? [starts[low]!, starts[low + 1]!] : [0, 0]
}

/** Returns the index of the version with that position and seq; -1 if there is none. */
export function versionAt({ positions, seqs }: WordIndex, position: number, seq: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (positions[middle]! < position) low = middle + 1
    else high = middle
  }
  for (let version = low; positions[version] === position; version++) if (seqs[version] === seq) return version
  return -1
}

/** Returns the index entry of a version. */
export function turnAt(index: WordIndex, version: number): IndexedTurn {
  return {
    conversationId: index.conversationId,
    position: index.positions[version]!,
    seq: index.seqs[version]!,
    at: index.times[version]!,
    actor: index.names[index.actors[version]!]!,
    tokens: index.tokens[version]!,
    cues: index.flags[version]! & (COMMITTED - 1),
    length: index.lengths[version]!,
  }
}
