// A plan answers as the executor of graphql-js does, or gives up, or is none: the same documents by both.

import {
  buildSchema,
  execute,
  GraphQLObjectType,
  GraphQLScalarType,
  parse,
  validate,
  type DocumentNode,
  type GraphQLFieldResolver,
} from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { describe, expect, test } from 'vitest'
import { planQuery, usePlans } from '../../src/graphql/plan.ts'

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
    counted: String
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
  error: new Error('no'),
  method: () => 'called',
  later: new Promise((resolve) => setTimeout(() => resolve(depth ? thing(depth - 1) : null), 1)),
  laterList: [Promise.resolve(depth ? thing(depth - 1) : null), null],
})
let counted = 0
const resolvers: Record<string, Record<string, GraphQLFieldResolver<never, never>>> = {
  Query: {
    thing: () => thing(),
    things: async () => [thing(), null, thing(0)],
    fail: () => {
      throw new Error('no')
    },
    counted: () => {
      counted += 1
      throw new Error('no')
    },
  },
  Thing: {
    echo: (_, args: object) => JSON.stringify(args),
    info: (_, __, ___, info) => info.fieldName,
    fail: () => {
      throw new Error('no')
    },
    reject: () => Promise.reject(new Error('late')),
    failLate: async () => null,
  },
}
for (const [type, fields] of Object.entries(resolvers)) {
  for (const [name, resolve] of Object.entries(fields)) {
    ;(schema.getType(type) as GraphQLObjectType).getFields()[name]!.resolve = resolve as never
  }
}
;(schema.getType('Checked') as GraphQLObjectType).isTypeOf = () => true
;(schema.getType('Any') as GraphQLScalarType).serialize = (value) => value

const planOf = (document: DocumentNode) => planQuery(schema, document, document.definitions[0] as never)
const valid = (query: string) => {
  const document = parse(query)
  expect(validate(schema, document)).toEqual([])
  return document
}

describe('a plan', () => {
  test.each<[string, string, object?]>([
    ['leaves of every kind', '{ thing { name size id colour any ratio matrix __typename } }'],
    ['the names that are asked for, in that order', '{ b: thing { z: size y: name } a: thing { name } __typename }'],
    [
      'fields asked for twice',
      `{
      thing { later { name } things { id } later { size later { id } } things { id size } name name }
    }`,
    ],
    [
      'objects and lists that come later',
      `{
      things { name later { name later { name later { name } } } laterList { size } size }
    }`,
    ],
    ['nothing', '{ thing { nothing { name } later { later { later { id } } } things { things { things { id } } } } }'],
    [
      'fragments',
      `query { thing { ...A ...A ... { id } ... on Thing { colour } } }
      fragment A on Thing { name ...B } fragment B on Thing { size }`,
    ],
    ['fragments on interfaces', '{ thing { ... on Named { name } ... on Sized { size } } }'],
    ['arguments', '{ thing { echo(filter: { colour: RED }, text: null) other: echo things { echo(filter: {}) } } }'],
    ['variables', 'query ($f: Filter, $t: String = "d") { thing { echo(filter: $f, text: $t) } }', { f: { size: 9 } }],
    ['variables that are not given', 'query ($f: Filter, $t: String) { thing { echo(filter: $f, text: $t) } }'],
    ['variables within', 'query ($c: Colour) { thing { echo(filter: { colour: $c }) } }', { c: 'RED' }],
  ])('answers as the executor: %s', async (_, query, variables) => {
    const document = valid(query)
    const data = await planOf(document)!({}, variables as never)
    const expected = await execute({ schema, document, variableValues: variables as never, contextValue: {} })
    expect(expected.errors).toBeUndefined()
    expect(JSON.stringify({ data })).toBe(JSON.stringify(expected))
  })

  test.each([
    ['a mutation', 'mutation { thing { name } }'],
    ['a subscription', 'subscription { thing { name } }'],
    ['@include', 'query ($x: Boolean!) { thing { name @include(if: $x) } }'],
    ['@skip on a fragment', '{ thing { ... @skip(if: true) { name } } }'],
    ['an interface', '{ thing { named { name } } }'],
    ['a union', '{ either { __typename } }'],
    ['a type that looks at its values', '{ thing { checked { name } } }'],
    ['introspection', '{ __schema { queryType { name } } }'],
    ['a name that objects have', '{ __proto__: thing { name } }'],
    ['too many fields', `{ ${Array.from({ length: 501 }, (_, index) => `a${index}: fail`).join(' ')} }`],
    [
      'fragments that grow',
      `{ thing { ...F0 } } fragment F12 on Thing { id } ${Array.from(
        { length: 12 },
        (_, index) => `fragment F${index} on Thing { a: later { ...F${index + 1} } b: later { ...F${index + 1} } }`,
      ).join(' ')}`,
    ],
  ])('there is none of %s', (_, query) => expect(planOf(valid(query))).toBeNull())

  test.each<[string, string, object?]>([
    ['an error', '{ fail }'],
    ['an error within', '{ thing { reject fail } }'],
    ['a late error, and another one before it', '{ thing { reject things { later { reject } } id required } }'],
    ['null where none may be', '{ thing { required } }'],
    ['null where none may be, late', '{ thing { later { failLate } } }'],
    ['an error as a value', '{ thing { error } }'],
    ['no list where one must be', '{ thing { noList } }'],
    ['a method', '{ thing { method } }'],
    ['a resolver that looks at its info', '{ thing { info } }'],
    ['a variable of the wrong type', 'query ($f: Filter) { thing { echo(filter: $f) } }', { f: 7 }],
    ['a variable that is missing', 'query ($f: Filter!) { thing { echo(filter: $f) } }'],
  ])('gives up at %s', async (_, query, variables) => {
    await expect((async () => planOf(valid(query))!({}, variables as never))()).rejects.toThrow()
    // A rejection that nobody waits for would end the process, and fails the run.
    await new Promise((resolve) => setTimeout(resolve, 5))
  })
})

/** Counts what comes to the executor. */
const counting = (count: () => void): Plugin => ({
  onExecute({ executeFn, setExecuteFn }) {
    setExecuteFn((args) => {
      count()
      return executeFn(args)
    })
  },
})

test('yoga executes by plan what is asked again, and by its executor what the plan gives up', async () => {
  let executed = 0
  const yoga = createYoga({
    schema,
    logging: false,
    plugins: [
      counting(() => {
        executed += 1
      }),
      usePlans(),
    ],
  })
  const ask = async (query: string) => {
    executed = 0
    const response = await yoga.fetch('http://x/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    return { executed, body: await response.json() }
  }
  const first = await ask('{ thing { name } }')
  expect(first).toEqual({ executed: 1, body: { data: { thing: { name: 'a' } } } })
  for (const _ of [1, 2]) expect(await ask('{ thing { name } }')).toEqual({ ...first, executed: 0 })

  const { body } = await ask('{ counted }')
  expect(body).toMatchObject({ data: { counted: null }, errors: [{ path: ['counted'] }] })
  expect(counted).toBe(1)
  expect(await ask('{ counted }')).toEqual({ executed: 1, body })
  expect(counted).toBe(3)
})
