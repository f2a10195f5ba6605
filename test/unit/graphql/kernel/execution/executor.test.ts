// Lists that were rendered as JSON take the place of empty lists in the result.

import { buildSchema, parse, type GraphQLObjectType, type GraphQLResolveInfo } from 'graphql'
import { describe, expect, it } from 'vitest'
import { executeOperation } from '../../../../../src/graphql/kernel/execution/executor.ts'
import type { RequestContext } from '../../../../../src/graphql/kernel/request.ts'
import { JsonText, stringify } from '../../../../../src/runtime/json/text.ts'

type Page = { json: string; required?: number | null }

const schema = buildSchema(`
  type Item { id: Int }
  type Page { items: [Item!]! required: Int! }
  type Query { page: Page pages: [Page]! late: Page }
`)

/** Leaves the items of a page to the executor, like connection.ts. */
function resolve({ json }: Page, _: object, context: RequestContext, { path }: GraphQLResolveInfo) {
  context.rendered!.push({ path, list: new JsonText(json, 1) })
  return []
}
;(schema.getType('Page') as GraphQLObjectType<Page, RequestContext>).getFields().items!.resolve = resolve

const page = (json: string, required: number | null = 1): Page => ({ json, required })

async function answer(query: string, rootValue: object): Promise<string> {
  return stringify(await executeOperation({ schema, document: parse(query), rootValue, contextValue: {} }))
}

describe('a rendered list', () => {
  it.each([
    ['of an object', '{ page { items { id } } }', '{"data":{"page":{"items":[{"id":1}]}}}'],
    ['of a promised object', '{ late { items { id } } }', '{"data":{"late":{"items":[{"id":4}]}}}'],
    [
      'with aliases',
      '{ p: page { a: items { id } b: items { id } } }',
      '{"data":{"p":{"a":[{"id":1}],"b":[{"id":1}]}}}',
    ],
    [
      'of objects in a list',
      '{ pages { items { id } } }',
      '{"data":{"pages":[{"items":[{"id":2}]},null,{"items":[{"id":3}]}]}}',
    ],
  ])('%s is in the result', async (_, query, expected) => {
    const rootValue = {
      page: page('[{"id":1}]'),
      pages: [page('[{"id":2}]'), null, page('[{"id":3}]')],
      late: Promise.resolve(page('[{"id":4}]')),
    }
    expect(await answer(query, rootValue)).toBe(expected)
  })

  it('is dropped if an error replaces its object by null', async () => {
    const rootValue = { page: page('[1]', null), pages: [page('[{"id":2}]', null), page('[{"id":3}]')] }
    const { data } = JSON.parse(
      await answer('{ page { items { id } required } pages { items { id } required } }', rootValue),
    )
    expect(data).toEqual({ page: null, pages: [null, { items: [{ id: 3 }], required: 1 }] })
  })
})
