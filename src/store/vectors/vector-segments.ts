// The segments of an embedder's vector index on Postgres. Vectors are numbered in the order of writing; each segment is
// an HNSW index of a range of numbers, built in one pass, which takes a fiftieth of the time of inserting its vectors
// one by one. A search reads all segments, and compares the newest vectors, which no segment covers, exactly. Segments
// are merged as they grow in number. Pure: the state is the list of indexes in the database, so that a crash loses no
// segment.

/** A range of numbers; `from` is inclusive, `to` is exclusive. */
export type NumberRange = { from: number; to: number }

export type VectorSegment = NumberRange & {
  /** False while the index is being built, and after a failed build. */
  valid: boolean
  /** Number of vectors as of the last VACUUM or ANALYZE. */
  rows: number
}

/** The segments that a search reads, without overlaps, and the ranges that no segment covers. */
export type Cover = {
  segments: VectorSegment[]
  /** In order. The last one has no upper limit: its `to` is Infinity. */
  gaps: NumberRange[]
}

/** A segment is merged with the newer vectors when it has at most this many times their number. */
const MERGE_FACTOR = 4

/**
 * Chooses the segments to search. Where segments overlap, as after a merge, chooses the largest one. Every number is in
 * exactly one segment or gap.
 */
export function coverOf(segments: readonly VectorSegment[]): Cover {
  const chosen: VectorSegment[] = []
  const gaps: NumberRange[] = []
  let next = 0
  const inOrder = segments.filter(({ valid }) => valid).toSorted((a, b) => a.from - b.from || b.to - a.to)
  for (const segment of inOrder) {
    if (segment.from < next) continue
    if (segment.from > next) gaps.push({ from: next, to: segment.from })
    chosen.push(segment)
    next = segment.to
  }
  gaps.push({ from: next, to: Infinity })
  return { segments: chosen, gaps }
}

/**
 * Returns the segment to build once `newer` vectors, with numbers below `end`, follow the segments: it begins with the
 * oldest segment to merge. With the factor of 4, a million vectors are in about four segments.
 */
export function nextSegment({ segments, gaps }: Cover, newer: number, end: number): NumberRange {
  let from = gaps.at(-1)!.from
  let size = newer
  for (const segment of segments.toReversed()) {
    // Segments after a gap are merged with it.
    if (segment.to <= gaps[0]!.from && segment.rows > MERGE_FACTOR * size) break
    size += segment.rows
    from = segment.from
  }
  return { from: Math.min(from, gaps[0]!.from), to: end }
}

/** Returns the segments that no search reads any more: invalid ones, and those that a larger one replaces. */
export const unusedSegments = (segments: readonly VectorSegment[]): VectorSegment[] => {
  const used = new Set(coverOf(segments).segments)
  return segments.filter((segment) => !used.has(segment))
}
