// Builds the inverted index of a conversation. A posting records that a version of a turn contains a term, and how
// often. Pure.

import type { IndexedVersion } from '../../../../store/sql/memory/recall/read-turn-index.ts'

export type Postings = {
  /** Hashes of the distinct terms, ascending as unsigned integers. */
  terms: Int32Array
  /** Index of each term's first posting, followed by the number of all postings. */
  starts: Int32Array
  /** The index of each posting's version, ascending for each term. */
  versions: Int32Array
  /** The number of occurrences of each posting's term in the version, at most 65,535. */
  counts: Uint16Array
}

/** Maximum number of versions of an index, so that `keyOf` returns an exact integer of at most 53 bits. */
export const MAX_VERSIONS = 2 ** 21

const keyOf = (term: number, version: number) => (term >>> 0) * MAX_VERSIONS + version

/**
 * Merges the postings of `before` with those of the new versions, and numbers the versions in the given order. Drops
 * the postings of versions that are not in `order`.
 * @param order for each version, its index in `before`, or -1 minus its index in `added`
 * @param size number of versions of `before`
 */
export function mergedPostings(
  before: Postings | null,
  size: number,
  added: readonly IndexedVersion[],
  order: readonly number[],
): Postings {
  const moved = new Int32Array(size).fill(-1)
  const keys = new Float64Array(added.reduce((sum, { terms }) => sum + terms.length, 0))
  let filled = 0
  for (const [index, from] of order.entries()) {
    if (from >= 0) moved[from] = index
    else for (const term of added[-1 - from]!.terms) keys[filled++] = keyOf(term, index)
  }
  keys.sort()

  const capacity = (before?.versions.length ?? 0) + keys.length
  const terms = new Int32Array((before?.terms.length ?? 0) + keys.length)
  const starts = new Int32Array(terms.length + 1)
  const versions = new Int32Array(capacity)
  const counts = new Uint16Array(capacity)
  let [term, posting] = [0, 0]
  const add = (hash: number, version: number, count: number) => {
    if (term === 0 || terms[term - 1] !== hash) {
      starts[term] = posting
      terms[term++] = hash
    }
    versions[posting] = version
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
      const version = moved[before.versions[p]!]!
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
    versions: versions.slice(0, posting),
    counts: counts.slice(0, posting),
  }
}

/** Returns the range of the term's postings, `to` exclusive. The range is empty if no version contains the term. */
function postingsRange({ terms, starts }: Postings, term: number): [from: number, to: number] {
  let [low, high] = [0, terms.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (terms[middle]! >>> 0 < term >>> 0) low = middle + 1
    else high = middle
  }
  return terms[low] === term && low < terms.length ? [starts[low]!, starts[low + 1]!] : [0, 0]
}

/** The versions that contain a term, ascending, and the number of its occurrences in each. */
export type TermPostings = Pick<Postings, 'versions' | 'counts'>

/** Returns the postings of a term with these alternatives (query.ts): one per version that has any of them. */
export function postingsOf(postings: Postings, hashes: readonly number[]): TermPostings {
  const ranges = hashes.map((hash) => postingsRange(postings, hash)).filter(([from, to]) => from < to)
  const [first = [0, 0] as const, ...others] = ranges
  const slice = ([from, to]: readonly [number, number]) => ({
    versions: postings.versions.subarray(from, to),
    counts: postings.counts.subarray(from, to),
  })
  return others.reduce((merged, range) => mergedTerm(merged, slice(range)), slice(first))
}

function mergedTerm(a: TermPostings, b: TermPostings): TermPostings {
  const versions = new Int32Array(a.versions.length + b.versions.length)
  const counts = new Uint16Array(versions.length)
  let [size, i, j] = [0, 0, 0]
  while (i < a.versions.length || j < b.versions.length) {
    const left = i < a.versions.length ? a.versions[i]! : Infinity
    const right = j < b.versions.length ? b.versions[j]! : Infinity
    versions[size] = Math.min(left, right)
    const count = (left <= right ? a.counts[i++]! : 0) + (right <= left ? b.counts[j++]! : 0)
    counts[size++] = Math.min(count, 65_535)
  }
  return { versions: versions.subarray(0, size), counts: counts.subarray(0, size) }
}
