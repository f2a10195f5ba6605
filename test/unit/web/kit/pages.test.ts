// Lists that are read page by page.

import { expect, it } from 'vitest'
import { readFirst } from '../../../../src/web/kit/pages.tsx'

/** Returns a list of `count` numbers, and the sizes of the pages that were read. */
function listOf(count: number) {
  const sizes: number[] = []
  const read = async ({ first, after }: { first: number; after: string | null }) => {
    sizes.push(first)
    const start = after === null ? 0 : Number(after)
    const end = Math.min(start + first, count)
    const nodes = Array.from({ length: end - start }, (_, index) => start + index)
    const pageInfo = { hasNextPage: end < count, hasPreviousPage: start > 0, startCursor: null, endCursor: String(end) }
    return { nodes, pageInfo }
  }
  return { sizes, read }
}

it.each([
  [0, 50, 0, false, [50]],
  [20, 50, 20, false, [50]],
  [50, 50, 50, false, [50]],
  [51, 50, 50, true, [50]],
  [200, 120, 120, true, [50, 50, 20]],
  [60, 120, 60, false, [50, 50]],
])('reads of %i items up to %i', async (count, limit, length, hasMore, sizes) => {
  const list = listOf(count)
  const result = await readFirst(limit, list.read)
  expect(result.items).toEqual(Array.from({ length }, (_, index) => index))
  expect(result.hasMore).toBe(hasMore)
  expect(list.sizes).toEqual(sizes)
})
