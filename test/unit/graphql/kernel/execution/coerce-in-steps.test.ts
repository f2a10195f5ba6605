// Long lists in the variables of mutations: the resolver gets the same values as without steps, other callbacks run
// while the list is coerced, and invalid items are reported by the executor.

import {
  execute,
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  parse,
  type ExecutionArgs,
  type ExecutionResult,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { useCoercionInSteps } from '../../../../../src/graphql/kernel/execution/coerce-in-steps.ts'

let iteration = 0
/** The iterations of the event loop in which values of the scalar Slow were parsed. */
const parsedIn = new Set<number>()
const Slow = new GraphQLScalarType({
  name: 'Slow',
  parseValue(value) {
    parsedIn.add(iteration)
    for (const end = performance.now() + 0.1; performance.now() < end;);
    return `slow ${String(value)}`
  },
})
const Item = new GraphQLInputObjectType({
  name: 'Item',
  fields: {
    slow: { type: Slow },
    kind: { type: new GraphQLEnumType({ name: 'Kind', values: { A: { value: 1 }, B: { value: 2 } } }) },
    n: { type: GraphQLInt, defaultValue: 7 },
  },
})
const Input = new GraphQLInputObjectType({
  name: 'Input',
  fields: {
    items: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(Item))) },
    others: { type: new GraphQLList(Item) },
    n: { type: GraphQLInt, defaultValue: 3 },
  },
})
let received: unknown
const write = {
  type: GraphQLInt,
  args: { input: { type: new GraphQLNonNull(Input) }, n: { type: GraphQLInt } },
  resolve(_: unknown, args: unknown) {
    received = args
    return 1
  },
}
const JSON_SCALAR = new GraphQLScalarType({ name: 'JSON' })
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { write } }),
  mutation: new GraphQLObjectType({ name: 'Mutation', fields: { write } }),
  types: [JSON_SCALAR],
})
const document = parse('mutation ($input: Input!, $n: Int) { write(input: $input, n: $n) }')

/** Executes the mutation with the plugin. Returns the result and the arguments of the resolver. */
async function run(variableValues: Record<string, unknown>) {
  received = undefined
  let executeFn: (args: ExecutionArgs) => unknown = execute
  const args = { schema, document, variableValues }
  void useCoercionInSteps().onExecute!({
    args,
    executeFn,
    setExecuteFn: (next: typeof executeFn) => void (executeFn = next),
  } as never)
  const result = (await executeFn(args)) as ExecutionResult
  return { result: JSON.parse(JSON.stringify(result)) as ExecutionResult, received }
}

/** Executes the mutation without the plugin. */
async function runAtOnce(variableValues: Record<string, unknown>) {
  received = undefined
  const result = await execute({ schema, document, variableValues })
  return { result: JSON.parse(JSON.stringify(result)) as ExecutionResult, received }
}

const items = Array.from({ length: 300 }, (_, n) => ({ slow: n, kind: n % 2 ? 'A' : 'B', ...(n % 3 && { n }) }))

describe('a long list in a variable of a mutation', () => {
  it('is coerced in several iterations of the event loop', async () => {
    let isDone = false
    const count = () => {
      iteration += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    parsedIn.clear()
    await run({ input: { items } })
    isDone = true
    expect(parsedIn.size).toBeGreaterThan(2)
  })

  it.each<[string, Record<string, unknown>]>([
    ['one list', { input: { items } }],
    ['two lists, with null items', { input: { items, others: [...items, null], n: 4 }, n: 5 }],
    ['a short list', { input: { items: items.slice(0, 3) } }],
  ])('gives the resolver the same arguments as at once: %s', async (_, variables) => {
    const expected = await runAtOnce(variables)
    expect(expected.result).toEqual({ data: { write: 1 } })
    expect(await run(variables)).toEqual(expected)
  })

  it.each<[string, Record<string, unknown>]>([
    ['an item', { input: { items: [...items, { kind: 'C' }] } }],
    ['a required item', { input: { items: [...items, null] } }],
    ['an unknown field of an item', { input: { items: [...items, { other: 1 }] } }],
    ['another field', { input: { items, n: 'x' } }],
    ['another variable', { input: { items }, n: 'x' }],
  ])('is reported as at once if %s is invalid, and the resolver does not run', async (_, variables) => {
    const expected = await runAtOnce(variables)
    expect(expected.result.errors).toHaveLength(1)
    expect(await run(variables)).toEqual(expected)
    expect(received).toBe(undefined)
  })
})
