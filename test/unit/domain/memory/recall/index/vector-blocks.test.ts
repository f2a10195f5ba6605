// The vectors of an index, which are stored in blocks, and their dot products with a query.

import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { compileProducts } from '../../../../../../scripts/compile-products.ts'
import { createProducts, rowsPerBlock } from '../../../../../../src/domain/memory/recall/index/products.ts'
import { PRODUCTS } from '../../../../../../src/domain/memory/recall/index/products-wasm.ts'
import { productsByRow, vectorAt, withVectors } from '../../../../../../src/domain/memory/recall/index/vector-blocks.ts'

/** Returns a vector whose components, and their products, are exact in 32 bits. */
const vectorOf = (dimension: number, seed: number) =>
  Float32Array.from({ length: dimension }, (_, d) => ((seed * 31 + d * 7) % 17) - 8)
const listOf = (dimension: number, count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => vectorOf(dimension, from + i))
const product = (a: Float32Array, b: Float32Array) => a.reduce((sum, component, d) => sum + component * b[d]!, 0)

it('the compiled module in the repository is that of the source', async () => {
  expect(await compileProducts()).toContain(`'${PRODUCTS}'`)
})

describe('vectors in blocks', () => {
  it('have the dot product of each vector with the query, for any dimension and number of vectors', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_600 }), fc.integer({ min: 1, max: 400 }), (dimension, count) => {
        const vectors = listOf(dimension, count)
        const query = vectorOf(dimension, 1_000)
        expect([...productsByRow(withVectors(null, vectors)!, query)]).toEqual(
          vectors.map((each) => product(each, query)),
        )
      }),
      { numRuns: 50 },
    )
  })

  it('are appended to a list without changing it', () => {
    const half = Math.floor(rowsPerBlock(100) / 2)
    const older = withVectors(null, listOf(100, half))!
    const one = withVectors(older, listOf(100, 2 * half, 500))!
    const other = withVectors(older, listOf(100, 3, 900))!
    expect([older.rows, one.rows, other.rows]).toEqual([half, 3 * half, half + 3])
    expect(vectorAt(one, half)).toEqual(vectorOf(100, 500))
    expect(vectorAt(one, 3 * half - 1)).toEqual(vectorOf(100, 500 + 2 * half - 1))
    expect(vectorAt(other, half + 2)).toEqual(vectorOf(100, 902))
    for (const list of [older, one, other]) expect(vectorAt(list, half - 1)).toEqual(vectorOf(100, half - 1))
  })

  it('share full blocks with the list that they were appended to', () => {
    const older = withVectors(null, listOf(100, rowsPerBlock(100) + 1))!
    const newer = withVectors(older, listOf(100, 1))!
    expect(newer.blocks[0]).toBe(older.blocks[0])
    expect(newer.blocks[1]).not.toBe(older.blocks[1])
  })

  it('are the same list if no vector is appended', () => {
    const list = withVectors(null, listOf(8, 1))
    expect(withVectors(list, [])).toBe(list)
    expect(withVectors(null, [])).toBeNull()
  })
})

it('products are correct for more blocks than the module keeps copies of', () => {
  const products = createProducts(2)
  const query = vectorOf(64, 3)
  const blocks = [1, 2, 3, 4].map((seed) => withVectors(null, listOf(64, 5, 100 * seed))!)
  for (const list of [...blocks, ...blocks.toReversed(), blocks[0]!, blocks[2]!]) {
    const wanted = Array.from({ length: 5 }, (_, row) => product(vectorAt(list, row), query))
    expect([...products(list.blocks, 5, query)]).toEqual(wanted)
  }
})

it('products are correct for more vectors than the module collects at once', () => {
  const vectors = listOf(2, 40_000)
  const query = vectorOf(2, 3)
  expect([...productsByRow(withVectors(null, vectors)!, query)]).toEqual(vectors.map((each) => product(each, query)))
})
