// The values of lists of objects are counted before the executor completes them.

import { buildSchema, execute, parse } from 'graphql'
import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../../../src/runtime/clock.ts'
import { loadConfig } from '../../../../../src/config/config.ts'
import { withCountedLists } from '../../../../../src/graphql/kernel/limits/lists.ts'
import { Work } from '../../../../../src/graphql/kernel/limits/work.ts'

describe('a list that is longer than estimated', () => {
  const schema = withCountedLists(
    buildSchema(`
      type Item { id: Int! nested: Item items: [Item!]! }
      type Query { items: [Item!]! }
    `),
  )
  const completed = vi.fn((): number => 1)
  const itemsOf = (length: number): object[] =>
    Array.from({ length }, () => ({
      get id() {
        return completed()
      },
      nested: null,
      items: [],
    }))

  it.each([
    ['returned', (items: object[]) => items],
    ['promised', async (items: object[]) => items],
  ])('stops the operation before its values are completed, if it is %s', async (_, given) => {
    completed.mockClear()
    const work = new Work({ ...loadConfig({}).operationLimits, values: 100 }, systemClock)
    const document = parse('{ items { id } more: items { id } }')
    const items = itemsOf(101)
    const rootValue = { items: () => given(items) }
    const result = await work.within('query', () => execute({ schema, document, rootValue, contextValue: { work } }))
    expect(result.errors?.[0]?.extensions).toEqual({ code: 'QUERY_TOO_COSTLY', limit: 'values', maximum: 100 })
    expect(completed.mock.calls.length).toBeLessThanOrEqual(101)
  })

  it.each<[string, string, number]>([
    ['its fields', '{ items { id } }', 2],
    ['fields of nested objects', '{ items { id nested { id nested { id } } } }', 6],
    ['fields of fragments', '{ items { ...A ... on Item { b: id } } } fragment A on Item { id c: id }', 4],
    ['nested lists, but not their items', '{ items { id items { id id2: id } } }', 3],
  ])('is counted with %s', async (_, query, perItem) => {
    const complete = vi.fn()
    const document = parse(query)
    await execute({ schema, document, rootValue: { items: itemsOf(7) }, contextValue: { work: { complete } } })
    expect(complete).toHaveBeenCalledWith(7 * perItem)
  })
})
