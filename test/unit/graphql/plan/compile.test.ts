// A plan returns the same result as yoga's executor for the same document: data, errors, and their order and paths.

import {
  buildSchema,
  GraphQLObjectType,
  GraphQLScalarType,
  parse,
  validate,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
} from 'graphql'
import { createYoga } from 'graphql-yoga'
import { describe, expect, test } from 'vitest'
import { compileQuery, NotPlannable } from '../../../../src/graphql/plan/compile.ts'

const schema = buildSchema(/* GraphQL */ `
  scalar Any
  enum Colour {
    RED
    GREEN
  }
  input Filter {
    colour: Colour
    size: Int = 3
  }
  interface Named {
    name: String
  }
  interface Sized {
    size: Int
  }
  type Thing implements Named & Sized {
    name: String
    size: Int
    id: ID!
    colour: Colour
    any: Any
    ratio: Float
    required: String!
    method: String
    things: [Thing!]!
    matrix: [[Int]]
    later: Thing
    laterList: [Thing]
    echo(filter: Filter, text: String = "t"): String
    info: String
    fail: String
    reject: String
    failLate: String!
    error: Any
    noList: [Int]
    set: [Int]
    badSize: Int
    badMethod: String
    must(filter: Filter!): String
    several: String
    severalLate: String
    nothing: Thing
    named: Named
    checked: Checked
  }
  type Checked {
    name: String
  }
  type Other implements Named {
    name: String
  }
  union Either = Thing | Other
  type Query {
    thing: Thing
    things: [Thing]
    either: Either
    fail: String
    must: Thing!
    size: Int
  }
  type Mutation {
    thing: Thing
  }
  type Subscription {
    thing: Thing
  }
`)
const thing = (depth = 2): object => ({
  name: 'a',
  size: 1,
  id: 7,
  colour: 'GREEN',
  any: { deep: [1, null] },
  ratio: 1,
  required: null,
  matrix: [[1, null], null],
  things: depth ? [thing(depth - 1), thing(depth - 1)] : [],
  noList: 'text',
  set: new Set([1, 2]),
  badSize: 'large',
  badMethod: () => {
    throw new Error('no')
  },
  error: new Error('no'),
  method: () => 'called',
  later: new Promise((resolve) => setImmediate(() => resolve(depth ? thing(depth - 1) : null))),
  laterList: [Promise.resolve(depth ? thing(depth - 1) : null), null],
})
const resolvers: Record<string, Record<string, GraphQLFieldResolver<never, never>>> = {
  Query: {
    thing: () => thing(),
    must: () => null,
    things: async () => [thing(), null, thing(0)],
    fail: () => {
      throw new Error('no')
    },
  },
  Thing: {
    echo: (_, args: object) => JSON.stringify(args),
    info: (_, __, ___, { schema: own, fragments, operation, fieldNodes, path, ...info }) =>
      JSON.stringify([
        own === schema,
        Object.keys(fragments),
        operation.kind,
        fieldNodes.length,
        pathOf(path),
        String(info.returnType),
        info.parentType.name,
        info.fieldName,
        info.rootValue,
        info.variableValues,
      ]),
    fail: () => {
      throw new Error('no')
    },
    reject: () => Promise.reject(new Error('late')),
    failLate: async () => null,
    must: () => 'must',
    several: () => {
      throw new AggregateError([new Error('one'), new Error('two')])
    },
    severalLate: () => Promise.reject(new AggregateError([new Error('one'), new Error('two')])),
  },
}
for (const [type, fields] of Object.entries(resolvers)) {
  for (const [name, resolve] of Object.entries(fields)) {
    ;(schema.getType(type) as GraphQLObjectType).getFields()[name]!.resolve = resolve as never
  }
}
;(schema.getType('Checked') as GraphQLObjectType).isTypeOf = () => true
;(schema.getType('Any') as GraphQLScalarType).serialize = (value) => value

type Path = GraphQLResolveInfo['path']
const pathOf = (path: Path | undefined): unknown[] => (path ? [...pathOf(path.prev), path.key, path.typename] : [])

const planOf = (document: DocumentNode) => compileQuery(schema, document, document.definitions[0] as never)
const valid = (query: string) => {
  const document = parse(query)
  expect(validate(schema, document)).toEqual([])
  return document
}

const { execute } = createYoga({ schema, logging: false, maskedErrors: false }).getEnveloped({})

/** Runs a query by the executor and by its plan, and returns both results. */
async function runBoth(query: string, variables?: object) {
  const document = valid(query)
  const args = { variableValues: variables as never, contextValue: {}, rootValue: { size: 3 } }
  const expected = (await execute({ schema, document, ...args })) as ExecutionResult
  return { expected, planned: await planOf(document)(args) }
}

describe('the plan of a query', () => {
  test.each<[string, string, object?]>([
    ['leaves of every kind', '{ thing { name size id colour any ratio matrix __typename } }'],
    ['the requested names in their order', '{ b: thing { z: size y: name } a: thing { name } __typename }'],
    [
      'fields selected twice',
      `{
      thing { later { name } things { id } later { size later { id } } things { id size } name name }
    }`,
    ],
    [
      'asynchronous objects and lists',
      `{
      things { name later { name later { name later { name } } } laterList { size } size }
    }`,
    ],
    ['a property of the root value', '{ size }'],
    ['null', '{ thing { nothing { name } later { later { later { id } } } things { things { things { id } } } } }'],
    [
      'fragments',
      `query { thing { ...A ...A ... { id } ... on Thing { colour } } }
      fragment A on Thing { name ...B } fragment B on Thing { size }`,
    ],
    ['fragments on interfaces', '{ thing { ... on Named { name } ... on Sized { size } } }'],
    ['arguments', '{ thing { echo(filter: { colour: RED }, text: null) other: echo things { echo(filter: {}) } } }'],
    ['variables', 'query ($f: Filter, $t: String = "d") { thing { echo(filter: $f, text: $t) } }', { f: { size: 9 } }],
    ['omitted variables', 'query ($f: Filter, $t: String) { thing { echo(filter: $f, text: $t) } }'],
    ['a method', '{ thing { method } }'],
    ['a resolver that reads its info', '{ thing { info } }'],
    ['an iterable that is not an array', '{ thing { set } }'],
    ['variables inside a value', 'query ($c: Colour) { thing { echo(filter: { colour: $c }) } }', { c: 'RED' }],
  ])("returns the executor's result: %s", async (_, query, variables) => {
    const { expected, planned } = await runBoth(query, variables)
    expect(expected.errors).toBeUndefined()
    expect(JSON.stringify(planned)).toBe(JSON.stringify(expected))
  })

  test.each<[string, string, object?]>([
    ['an error', '{ fail }'],
    ['an error in a nested field', '{ thing { reject fail } }'],
    ['errors in some items of a list', '{ things { later { fail } laterList { reject name } } }'],
    ['an asynchronous error and an earlier one', '{ thing { reject things { later { reject } } id required } }'],
    ['null in a non-null field', '{ thing { required } }'],
    ['asynchronous null in a non-null field', '{ thing { later { failLate } } }'],
    ['null in a list of non-null items', '{ things { name things { required } } }'],
    ['null for the whole result', '{ must { name } }'],
    ['an error next to one that makes their parent null', '{ thing { reject things { required } } fail }'],
    [
      'asynchronous errors of several fields, one of which makes their parent null',
      '{ thing { failLate things { failLate } reject } }',
    ],
    ['an error as a value', '{ thing { error } }'],
    ['a value that is not a list', '{ thing { noList } }'],
    ['an error of a method', '{ thing { badMethod } }'],
    ['a value that its scalar rejects', '{ thing { badSize id } }'],
    ['an argument that is null', 'query ($f: Filter = {}) { thing { name must(filter: $f) } }', { f: null }],
    ['several errors of one field', '{ thing { several name severalLate } }'],
  ])('returns the errors of the executor: %s', async (_, query, variables) => {
    const { expected, planned } = await runBoth(query, variables)
    expect(expected.errors?.length).toBeGreaterThan(0)
    expect(JSON.stringify(planned)).toBe(JSON.stringify(expected))
    // Node.js reports an unhandled rejection, which would fail the test run, before the next iteration.
    await new Promise((resolve) => setImmediate(resolve))
  })

  test.each<[string, string, object?]>([
    ['of the wrong type', 'query ($f: Filter) { thing { echo(filter: $f) } }', { f: 7 }],
    ['missing', 'query ($f: Filter!) { thing { echo(filter: $f) } }'],
  ])('returns null for a variable that is %s, so that the executor reports the error', (_, query, variables) => {
    expect(planOf(valid(query))({ variableValues: variables as never })).toBeNull()
  })

  test.each([
    ['a mutation', 'mutation { thing { name } }'],
    ['a subscription', 'subscription { thing { name } }'],
    ['@include', 'query ($x: Boolean!) { thing { name @include(if: $x) } }'],
    ['@skip on a fragment', '{ thing { ... @skip(if: true) { name } } }'],
    ['an interface', '{ thing { named { name } } }'],
    ['a union', '{ either { __typename } }'],
    ['a type with isTypeOf', '{ thing { checked { name } } }'],
    ['introspection', '{ __schema { queryType { name } } }'],
    ['a name from Object.prototype', '{ __proto__: thing { name } }'],
    ['too many fields', `{ ${Array.from({ length: 501 }, (_, index) => `a${index}: fail`).join(' ')} }`],
    [
      'fragments of exponential size',
      `{ thing { ...F0 } } fragment F12 on Thing { id } ${Array.from(
        { length: 12 },
        (_, index) => `fragment F${index} on Thing { a: later { ...F${index + 1} } b: later { ...F${index + 1} } }`,
      ).join(' ')}`,
    ],
  ])('cannot be compiled for %s', (_, query) => expect(() => planOf(valid(query))).toThrow(NotPlannable))
})
