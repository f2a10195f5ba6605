// The estimated number of values of an answer.

import { getIntrospectionQuery, parse, validate, type OperationDefinitionNode } from 'graphql'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../../src/config/config.ts'
import { costOf, LIST_SIZE } from '../../../../../src/graphql/kernel/limits/cost.ts'
import { documentError } from '../../../../../src/graphql/kernel/limits/document.ts'
import { schema } from '../../../../../src/graphql/schema.ts'
import { tabs } from '../../../../../src/server/pages/graphiql/graphiql.ts'
import { blocks, documents } from '../../../../support/documents.ts'

const limits = loadConfig({}).operationLimits

function cost(text: string, variables: Record<string, unknown> = {}): number {
  const document = parse(text)
  expect(validate(schema, document)).toEqual([])
  return costOf(schema, document, document.definitions[0] as OperationDefinitionNode, variables)
}

const HISTORY = 'history(limit: 200) { ... on Turn { conversation {'
/** A query that crashed the process before costs were limited: it selects 8 million turns in less than 200 bytes. */
const NESTED = `{conversation(id:"conv_x"){${HISTORY.repeat(3)} id ${'}}}'.repeat(3)}}}`.replaceAll(/\s+/g, ' ')

describe('costOf', () => {
  it.each<[string, string, object, number]>([
    ['leaves and objects', '{ viewer { actor tenant } }', {}, 3],
    ['the items of a list with a page size', '{ jobs(first: 7) { nodes { id } } }', {}, 2 + 7 * 2],
    ['the default of a page size', '{ jobs { nodes { id } } }', {}, 2 + 50 * 2],
    [
      'the edges of a connection',
      '{ conversations(first: 3) { edges { node { id } } pageInfo { hasNextPage } } }',
      {},
      13,
    ],
    ['a connection backwards', '{ conversations(last: 3) { edges { cursor } } }', {}, 2 + 3 * 2],
    ['a connection without a page size', '{ conversations { edges { cursor } } }', {}, 2 + 50 * 2],
    ['null for an omitted page size', '{ conversations(first: null) { edges { cursor } } }', {}, 2 + 50 * 2],
    ['a list without a page size', '{ node(id: "t") { ... on Turn { parts { __typename } } } }', {}, 2 + LIST_SIZE * 2],
    ['a list of leaves', '{ node(id: "t") { ... on Turn { audience } } }', {}, 2 + LIST_SIZE],
    [
      'nested lists, multiplied',
      '{ conversations(first: 5) { edges { node { history(limit: 4) { ... on Turn { id } } } } } }',
      {},
      2 + 5 * (1 + 1 + 1 + 4 * 2),
    ],
    [
      'a page size of an input',
      '{ recall(input: { query: "x", k: 3 }) { ... on Recall { hits { score } } } }',
      {},
      2 + 3 * 2,
    ],
    [
      'the default of an input',
      '{ recall(input: { query: "x" }) { ... on Recall { hits { score } } } }',
      {},
      2 + 10 * 2,
    ],
    [
      'the neighbours of each hit, on both sides',
      '{ recall(input: { query: "x", k: 3, neighbours: 2 }) { ... on Recall { hits { neighbours { id } } } } }',
      {},
      2 + 3 * (2 + 4 * 2),
    ],
    [
      'no neighbours by default',
      '{ recall(input: { query: "x", k: 3 }) { ... on Recall { hits { neighbours { id } } } } }',
      {},
      2 + 3 * 2,
    ],
    [
      'the neighbours in a variable',
      'query ($input: RecallInput!) { recall(input: $input) { ... on Recall { hits { neighbours { id } } } } }',
      { input: { query: 'x', k: 3, neighbours: 1 } },
      2 + 3 * (2 + 2 * 2),
    ],
    ['a variable', 'query ($n: Int) { jobs(first: $n) { nodes { id } } }', { n: 9 }, 2 + 9 * 2],
    ['the default of a variable', 'query ($n: Int = 9) { jobs(first: $n) { nodes { id } } }', {}, 2 + 9 * 2],
    ['an omitted variable', 'query ($n: Int) { jobs(first: $n) { nodes { id } } }', {}, 2 + 50 * 2],
    [
      'a variable of a wrong type, which fails later',
      'query ($n: Int) { jobs(first: $n) { nodes { id } } }',
      { n: 'all' },
      102,
    ],
    ['a negative page size, which fails later', '{ jobs(first: -5) { nodes { id } } }', {}, 2],
    [
      'an input in a variable',
      'query ($i: RecallInput!) { recall(input: $i) { ... on Recall { hits { score } } } }',
      { i: { query: 'x', k: 4 } },
      2 + 4 * 2,
    ],
    [
      'a variable within an input',
      'query ($k: Int) { recall(input: { query: "x", k: $k }) { ... on Recall { hits { score } } } }',
      { k: 4 },
      2 + 4 * 2,
    ],
    [
      'the number of appended turns',
      'mutation ($i: AppendTurnsInput!) { appendTurns(input: $i) { ... on AppendTurnsPayload { turns { id } } } }',
      { i: { turns: Array.from({ length: 30 }) } },
      2 + 30 * 2,
    ],
    [
      'fragments wherever they are used',
      '{ a: jobs(first: 2) { nodes { ...J } } b: jobs(first: 3) { nodes { ...J } } } fragment J on Job { id name }',
      {},
      2 * 2 + 5 * 3,
    ],
    ['all types of a union', '{ node(id: "x") { ... on Turn { id } ... on Fact { id } } }', {}, 3],
    [
      'only the selected one of two operations',
      'query A { viewer { actor } } query B { jobs { nodes { id } } }',
      {},
      2,
    ],
  ])('counts %s', (_, text, variables, expected) => {
    expect(cost(text, variables as Record<string, unknown>)).toBe(expected)
  })

  it('is far above the limit for a short query of nested pages', () => {
    expect(NESTED.length).toBeLessThan(200)
    expect(cost(NESTED)).toBeGreaterThan(200 ** 3)
    expect(cost(`query ($n: Int) ${NESTED.replaceAll('200', '$n')}`, { n: 200 })).toBe(cost(NESTED))
    expect(cost(`query ($n: Int) ${NESTED.replaceAll('200', '$n')}`, { n: 2 })).toBeLessThan(100)
  })
})

describe('the default limits', () => {
  const legitimate = [
    ['introspection', getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true, oneOf: true })],
    ['pages of conversations with their turns', PAGES(100, 20)],
    ...tabs.map(({ query }, at) => [`tab ${at + 1} of GraphiQL`, query]),
    ...documents.flatMap((document) =>
      blocks(document, 'graphql').map(({ path, line, text }) => [`${path}, line ${line}`, text]),
    ),
  ] as [string, string][]

  it.each(legitimate)('allow %s', (_, text) => {
    const document = parse(text)
    expect(documentError(document, limits)).toBeNull()
    expect(document.tokenCount).toBeLessThan(limits.tokens)
    for (const each of document.definitions) {
      if (each.kind !== 'OperationDefinition') continue
      expect(costOf(schema, document, each, {})).toBeLessThan(limits.values)
    }
  })
})

function PAGES(conversations: number, turns: number): string {
  return `{ conversations(first: ${conversations}) { edges { cursor node { id title key owner metadata lastSeq turnCount
    participants { nodes { actor kind displayName lastReadSeq } }
    turns(last: ${turns}) { edges { cursor node { id seq actor role status text parts { ... on TextPart { text } } createdAt } }
      pageInfo { hasPreviousPage startCursor } } } } pageInfo { hasNextPage endCursor } } }`
}
