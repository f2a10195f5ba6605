// Yoga with the plans plugin: queries that run by a plan, the log and the counters for other queries, and masked
// errors.

import { buildSchema, GraphQLError, type GraphQLObjectType, type GraphQLFieldResolver } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { beforeEach, expect, test, vi } from 'vitest'
import { usePlans } from '../../../../src/graphql/plan/plugin.ts'

const schema = buildSchema(`
  type Thing { name: String required: String! }
  type Query { thing(size: Int): Thing throws: String rejects: String late: Thing }
`)
const calls: string[] = []
const recorded =
  (name: string, resolve: () => unknown): GraphQLFieldResolver<unknown, unknown> =>
  () => {
    calls.push(name)
    return resolve()
  }
const resolvers: Record<string, () => unknown> = {
  thing: () => ({ name: 'a' }),
  throws() {
    throw new Error('secret')
  },
  rejects: () => Promise.reject(new Error('secret')),
  late: async () => ({ name: 'b', required: null }),
}
for (const [name, resolve] of Object.entries(resolvers)) {
  ;(schema.getType('Query') as GraphQLObjectType).getFields()[name]!.resolve = recorded(name, resolve)
}

/** Counts the operations that reach the executor. */
let executed = 0
const counting: Plugin = {
  onExecute({ executeFn, setExecuteFn }) {
    setExecuteFn((args) => {
      executed += 1
      return executeFn(args)
    })
  },
}

const debug = vi.fn()
const masked: unknown[] = []
function server(plugins: Plugin[]) {
  const yoga = createYoga({
    schema,
    logging: false,
    maskedErrors: {
      maskError(error) {
        masked.push(error)
        const { path, nodes } = error as GraphQLError
        return new GraphQLError('Unexpected error.', { path, nodes })
      },
    },
    plugins: [counting, ...plugins],
  })
  return async (query: string, variables?: object) => {
    executed = 0
    calls.length = 0
    masked.length = 0
    const response = await yoga.fetch('http://x/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
    const body: unknown = await response.json()
    return { status: response.status, body, executed, calls: [...calls], masked: masked.length }
  }
}
beforeEach(() => void debug.mockClear())

test('a query runs by its plan from its second execution on', async () => {
  const plans = usePlans({ debug })
  const ask = server([plans])
  const first = await ask('{ thing { name } }')
  expect(first).toEqual({
    status: 200,
    body: { data: { thing: { name: 'a' } } },
    executed: 1,
    calls: ['thing'],
    masked: 0,
  })
  for (const _ of [1, 2]) expect(await ask('{ thing { name } }')).toEqual({ ...first, executed: 0 })
  expect(plans.executions).toEqual({ planned: 2, fallback: 0 })
  expect(debug).not.toHaveBeenCalled()
})

test('a query without a plan runs by the executor, and each fallback is logged with its reason and count', async () => {
  const plans = usePlans({ debug })
  const ask = server([plans])
  const query = 'query Some { thing { name @include(if: true) } }'
  const first = await ask(query)
  for (const fallbacks of [1, 2]) {
    expect(await ask(query)).toEqual(first)
    expect(first).toMatchObject({ executed: 1, calls: ['thing'] })
    expect(debug).toHaveBeenLastCalledWith(
      { operation: 'Some', reason: 'directive @include', fallbacks },
      expect.any(String),
    )
  }
  expect(plans.executions).toEqual({ planned: 0, fallback: 2 })
})

test.each([
  '{ throws }',
  '{ rejects }',
  '{ thing { name } rejects throws }',
  '{ late { name required } thing { name } }',
])('an unexpected error is masked in the same way as without a plan, and its resolver runs once: %s', async (query) => {
  const plans = usePlans({ debug })
  const [planned, plain] = [server([plans]), server([])]
  await planned(query)
  const expected = await plain(query)
  expect(expected.masked).toBeGreaterThan(0)
  expect(JSON.stringify(expected.body)).not.toContain('secret')
  expect(await planned(query)).toEqual({ ...expected, executed: 0 })
  expect(plans.executions).toEqual({ planned: 1, fallback: 0 })
  expect(new Set(calls).size).toBe(calls.length)
})
