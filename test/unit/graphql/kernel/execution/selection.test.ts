// The fields that a field selects, as a resolver finds them before the execution.

import { buildSchema, execute, parse, type GraphQLResolveInfo } from 'graphql'
import { describe, expect, it } from 'vitest'
import { selectedByField, selectedIn, type Selected } from '../../../../../src/graphql/kernel/execution/selection.ts'

const schema = buildSchema(`
  interface Node { id: ID! }
  type Turn implements Node { id: ID! text: String! }
  type Page { nodes: [Turn!]! count: Int! }
  type Conversation implements Node { id: ID! title: String turns(last: Int): Page! }
  type Query { conversation: Conversation }
`)

/** Resolves the conversation, and returns the argument `info` of its resolver. */
async function infoOf(query: string): Promise<GraphQLResolveInfo> {
  let info: GraphQLResolveInfo | undefined
  const conversation = (_: object, __: object, given: GraphQLResolveInfo) => void (info = given)
  await execute({ schema, document: parse(query), rootValue: { conversation } })
  return info!
}

/** Returns the keys of the fields, with those of the fields that they select in parentheses. */
function keysOf(info: GraphQLResolveInfo, fields: readonly Selected[] | null): string {
  if (!fields) return 'unknown'
  return fields
    .map((field) => (field.node.selectionSet ? `${field.key}(${keysOf(info, selectedIn(info, field))})` : field.key))
    .join(' ')
}

describe('the selected fields', () => {
  it.each([
    ['{ conversation { id t: title __typename } }', 'id t __typename'],
    ['{ conversation { turns { nodes { id } count } } }', 'turns(nodes(id) count)'],
    [
      '{ conversation { ...C ... on Node { id } ... { x: id } } } fragment C on Conversation { title ...N } fragment N on Node { y: id }',
      'title y id x',
    ],
    ['{ conversation { ...N id } } fragment N on Node { id ... on Turn { text } }', 'id'],
    ['{ conversation { turns { nodes { ...T ...T } } } } fragment T on Turn { text }', 'turns(nodes(text))'],
    ['{ conversation { id turns { nodes @skip(if: false) { id } } } }', 'id turns(unknown)'],
    ['{ conversation { ... @include(if: true) { id } } }', 'unknown'],
    ['{ conversation { turns { count } turns { nodes { id } } } }', 'unknown'],
    ['{ conversation { id } conversation { title } }', 'unknown'],
  ])('of %s are %s', async (query, expected) => {
    const info = await infoOf(query)
    expect(keysOf(info, selectedByField(info))).toBe(expected)
  })
})
