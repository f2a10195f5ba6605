// Stores the vectors of a conversation in immutable blocks, so that a list with more vectors shares the blocks of the
// list before it. Computes their scalar products with a query.

import { createProducts, rowSize, rowsPerBlock, type Products } from './products.ts'

export type VectorBlocks = {
  /** Number of components of each vector. */
  dimension: number
  /** Each block has rowsPerBlock rows; the last one may have fewer. */
  blocks: readonly Float32Array[]
  /** Number of vectors. */
  rows: number
}

/**
 * Appends vectors, all of the same dimension, and returns the new list. @param before the list; null for an empty one
 */
export function withVectors(before: VectorBlocks | null, vectors: readonly Float32Array[]): VectorBlocks | null {
  if (vectors.length === 0) return before
  const dimension = vectors[0]!.length
  const [size, perBlock] = [rowSize(dimension), rowsPerBlock(dimension)]
  const blocks = [...(before?.blocks ?? [])]
  let rows = before?.rows ?? 0
  for (let next = 0; next < vectors.length;) {
    const filled = rows % perBlock
    const added = vectors.slice(next, next + perBlock - filled)
    const block = new Float32Array((filled + added.length) * size)
    // Copy the last block instead of extending it, because the list `before` still uses it.
    if (filled > 0) block.set(blocks.pop()!)
    for (const [i, vector] of added.entries()) block.set(vector, (filled + i) * size)
    blocks.push(block)
    rows += added.length
    next += added.length
  }
  return { dimension, blocks, rows }
}

/** Returns the vector in a row, without copying it. */
export function vectorAt({ dimension, blocks }: VectorBlocks, row: number): Float32Array {
  const perBlock = rowsPerBlock(dimension)
  const at = (row % perBlock) * rowSize(dimension)
  return blocks[Math.floor(row / perBlock)]!.subarray(at, at + dimension)
}

let products: Products | undefined

/** Returns the scalar product of the query and each vector, by row. */
export function productsByRow({ blocks, rows }: VectorBlocks, query: Float32Array): Float32Array {
  products ??= createProducts()
  return products(blocks, rows, query)
}
