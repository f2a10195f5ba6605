// The size of a tree of plain objects and lists.

import { describe, expect, it } from 'vitest'
import { JsonText } from '../../../../../src/runtime/json/text.ts'
import { extentOf } from '../../../../../src/graphql/kernel/limits/extent.ts'

describe('extentOf', () => {
  const all = { values: Infinity, bytes: Infinity }
  it.each<[string, unknown, { values: number; bytes: number }]>([
    ['a text', 'four', { values: 1, bytes: 4 }],
    ['other leaves', [1, true, null, undefined, new Date()], { values: 6, bytes: 40 }],
    ['objects and lists', { a: ['x', 'yy'], b: { c: '' } }, { values: 6, bytes: 3 }],
    ['the values of a map', new Map([['key', 'x']]), { values: 2, bytes: 1 }],
    ['the values of JSON, and its text', [new JsonText('[1,2]', 3)], { values: 4, bytes: 5 }],
    ['the bytes of a typed array', new Float32Array(3), { values: 1, bytes: 12 }],
  ])('counts %s', (_, tree, extent) => {
    expect(extentOf(tree, all)).toEqual(extent)
  })

  it('counts a deep tree', () => {
    let tree: unknown = 'x'
    for (let depth = 0; depth < 200_000; depth++) tree = [tree]
    expect(extentOf(tree, all)).toEqual({ values: 200_001, bytes: 1 })
  })

  it('stops beyond a maximum', () => {
    expect(
      extentOf(
        Array.from({ length: 1_000 }, () => 'x'),
        { values: 10, bytes: Infinity },
      ).values,
    ).toBe(11)
  })
})
