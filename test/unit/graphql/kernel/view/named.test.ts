// The actor of an operation, found in its arguments, inputs and variables.

import { getOperationAST, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../../../src/graphql/schema.ts'
import { actorOf } from '../../../../../src/graphql/kernel/view/named.ts'

const found = (text: string, variables?: Record<string, unknown>, operationName?: string) => {
  const document = parse(text)
  expect(validate(schema, document)).toEqual([])
  return actorOf({ schema, document, variableValues: variables }, getOperationAST(document, operationName)!, 'ada')
}
const actor = (...given: Parameters<typeof found>) => found(...given).actor
const APPEND = 'mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { __typename } }'
const BOTH = 'query ($me: String, $you: String) { viewer(as: $me) { actor } jobs(as: $you) { nodes { id } } }'

describe('the actor of an operation', () => {
  it.each<[title: string, text: string, variables: Record<string, unknown> | undefined, expected: string]>([
    ['no `as`', '{ viewer { actor } }', undefined, 'ada'],
    ['`as: null`', '{ viewer(as: null) { actor } }', undefined, 'ada'],
    ['a literal', '{ viewer(as: "bob") { actor } }', undefined, 'bob'],
    ['a block string', '{ viewer(as: """bob""") { actor } }', undefined, 'bob'],
    ['a variable', 'query ($a: String) { viewer(as: $a) { actor } }', { a: 'bob' }, 'bob'],
    ['a variable that is null', 'query ($a: String = "bob") { viewer(as: $a) { actor } }', { a: null }, 'ada'],
    ['an omitted variable', 'query ($a: String) { viewer(as: $a) { actor } }', {}, 'ada'],
    ['a default', 'query ($a: String = "bob") { viewer(as: $a) { actor } }', {}, 'bob'],
    ['a default, without variables', 'query ($a: String = "bob") { viewer(as: $a) { actor } }', undefined, 'bob'],
    ['a variable in place of a default', 'query ($a: String = "x") { viewer(as: $a) { actor } }', { a: 'bob' }, 'bob'],
    ['a variable named like a property', 'query ($toString: String) { viewer(as: $toString) { actor } }', {}, 'ada'],
    ['a variable of a wrong type', 'query ($a: String) { viewer(as: $a) { actor } }', { a: 7 }, 'ada'],
    ['an input literal', '{ recall(input: { query: "x", as: "bob" }) { __typename } }', undefined, 'bob'],
    [
      'a variable in an input literal',
      'query ($a: String) { recall(input: { query: "x", as: $a }) { __typename } }',
      { a: 'bob' },
      'bob',
    ],
    ['an input variable', APPEND, { input: { conversationId: 'c', as: 'bob', turn: { role: 'USER' } } }, 'bob'],
    ['an input variable without `as`', APPEND, { input: { conversationId: 'c', turn: { role: 'USER' } } }, 'ada'],
    ['an input variable of a wrong type', APPEND, { input: 'bob' }, 'ada'],
    [
      'the default of an input variable',
      'query ($i: RecallInput! = { query: "x", as: "bob" }) { recall(input: $i) { __typename } }',
      {},
      'bob',
    ],
    ['a fragment', '{ ...F } fragment F on Query { viewer(as: "bob") { actor } }', undefined, 'bob'],
    ['an inline fragment', '{ ... on Query { viewer(as: "bob") { actor } } }', undefined, 'bob'],
    ['a subscription', 'subscription { inbox(as: "bob") { reason } }', undefined, 'bob'],
    ['equal actors', BOTH, { me: 'bob', you: 'bob' }, 'bob'],
    ['the requester by name, and no `as`', BOTH, { me: 'ada' }, 'ada'],
    ['fields that have no view', '{ __typename embedding { done } viewer(as: "bob") { actor } }', undefined, 'bob'],
    ['introspection', '{ __schema { queryType { name } } viewer(as: "bob") { actor } }', undefined, 'bob'],
  ])('is found in %s', (_, text, variables, expected) => {
    expect(actor(text, variables)).toBe(expected)
  })

  it('is that of the selected operation', () => {
    const text = 'query A { viewer(as: "eve") { actor } } query B { viewer(as: "bob") { actor } }'
    expect([actor(text, {}, 'A'), actor(text, {}, 'B')]).toEqual(['eve', 'bob'])
  })

  it('is computed for each call, not once per document', () => {
    const document = parse('query ($a: String) { viewer(as: $a) { actor } }')
    const read = (variables: object) =>
      actorOf({ schema, document, variableValues: { ...variables } }, getOperationAST(document)!, 'ada')
    expect(['bob', 'eve', null].map((a) => read({ a }).actor)).toEqual(['bob', 'eve', 'ada'])
  })

  it.each<[title: string, text: string, variables?: Record<string, unknown>]>([
    ['two literals', '{ viewer(as: "bob") { actor } other: viewer(as: "eve") { actor } }'],
    ['two variables', BOTH, { me: 'bob', you: 'eve' }],
    ['one field with `as`, and one without', BOTH, { me: 'bob' }],
    ['one field without `as`, and one with', BOTH, { you: 'bob' }],
    [
      'two mutations',
      'mutation { a: summarize(input: { as: "bob" }) { __typename } b: compact(input: {}) { __typename } }',
    ],
    ['a field in a fragment', '{ viewer { actor } ...F } fragment F on Query { jobs(as: "bob") { nodes { id } } }'],
    ['a field that is skipped', '{ viewer { actor } jobs(as: "bob") @skip(if: true) { nodes { id } } }'],
  ])('must be the same in all root fields: %s', (_, text, variables) => {
    expect(() => found(text, variables)).toThrow(
      expect.objectContaining({
        extensions: { code: 'MIXED_VIEWS' },
        message: expect.stringMatching(
          /^One operation has one view, but \w+ is for "\w+", and \w+ is for "\w+"\. Send one/,
        ),
      }),
    )
  })

  it('may be unknown only in a mutation that can introduce it', () => {
    const mayBeNew = (text: string) => found(text).mayBeNew
    const turn = 'conversationId: "c", as: "new", turn: { role: USER }'
    expect(mayBeNew(`mutation { appendTurn(input: { ${turn} }) { __typename } }`)).toBe(true)
    expect(mayBeNew('mutation { createConversation(input: { as: "new" }) { __typename } }')).toBe(true)
    expect(mayBeNew('mutation { summarize(input: { as: "new" }) { __typename } }')).toBe(false)
    expect(mayBeNew('{ viewer(as: "new") { actor } }')).toBe(false)
  })
})
