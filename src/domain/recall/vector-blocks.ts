// Vectors of a conversation, in blocks of equal size that are never changed, so that a newer list shares the blocks of
// an older one. Pure.

/** Number of vectors in a block. */
export const BLOCK_ROWS = 64

export type VectorBlocks = {
  /** Number of components of each vector. */
  dimension: number
  /** Each has BLOCK_ROWS rows; the last one may be filled in part. */
  blocks: readonly Float32Array[]
  /** Number of vectors. */
  rows: number
}

/** Returns the list with more vectors, all of which have the same dimension. @param before null for an empty list */
export function withVectors(before: VectorBlocks | null, vectors: readonly Float32Array[]): VectorBlocks | null {
  if (vectors.length === 0) return before
  const dimension = vectors[0]!.length
  const blocks = [...(before?.blocks ?? [])]
  let rows = before?.rows ?? 0
  // The older list keeps its last block as it is.
  if (rows % BLOCK_ROWS !== 0) blocks.push(blocks.pop()!.slice())
  for (const vector of vectors) {
    if (rows % BLOCK_ROWS === 0) blocks.push(new Float32Array(BLOCK_ROWS * dimension))
    blocks.at(-1)!.set(vector, (rows % BLOCK_ROWS) * dimension)
    rows += 1
  }
  return { dimension, blocks, rows }
}

/** Returns a view of the vector in a row. */
export function vectorAt({ dimension, blocks }: VectorBlocks, row: number): Float32Array {
  const at = (row % BLOCK_ROWS) * dimension
  return blocks[Math.floor(row / BLOCK_ROWS)]!.subarray(at, at + dimension)
}

/** Returns the scalar product of the query with each vector, by row. */
export function products({ dimension, blocks, rows }: VectorBlocks, query: Float32Array): Float64Array {
  const found = new Float64Array(rows)
  for (let row = 0; row < rows; row++) {
    found[row] = product(blocks[Math.floor(row / BLOCK_ROWS)]!, (row % BLOCK_ROWS) * dimension, query)
  }
  return found
}

/** Returns the scalar product of the query and the components from `at` on. Four sums at once take half the time of one. */
function product(components: Float32Array, at: number, query: Float32Array): number {
  const whole = query.length - (query.length % 4)
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let d = 0; d < whole; d += 4) {
    s0 += components[at + d]! * query[d]!
    s1 += components[at + d + 1]! * query[d + 1]!
    s2 += components[at + d + 2]! * query[d + 2]!
    s3 += components[at + d + 3]! * query[d + 3]!
  }
  for (let d = whole; d < query.length; d++) s0 += components[at + d]! * query[d]!
  return s0 + s1 + (s2 + s3)
}
