// A run of consecutive turns of one conversation, as a viewer sees them, with what a search found in each. Pure.

import type { IndexedTurns } from '../../store/sql/recall/read-index.ts'

/** Arrays with the same index describe the same turn. */
export type Sequence = IndexedTurns & {
  /** Cosine of the query and each turn; NaN if either has no vector. */
  similarities: Float64Array
}

/** Returns the array without the elements from `from` up to, excluding, `to`. */
function cut<A extends Int32Array | Float64Array | Uint8Array>(array: A, from: number, to: number): A {
  const left = array.slice(0, array.length - (to - from)) as A
  left.set(array.subarray(to), from)
  return left
}

/** Returns the sequence without the turn at `index`. */
export function withoutTurn({ turns, eligible, similarities, counts }: Sequence, index: number): Sequence {
  const [first, last] = [counts.starts[index]!, counts.starts[index + 1]!]
  return {
    turns: turns.toSpliced(index, 1),
    eligible: cut(eligible, index, index + 1),
    similarities: cut(similarities, index, index + 1),
    counts: {
      starts: cut(counts.starts, index, index + 1).map((start, i) => (i < index ? start : start - (last - first))),
      terms: cut(counts.terms, first, last),
      counts: cut(counts.counts, first, last),
    },
  }
}
