// The large answers of yoga: serialised in steps, and sent in pieces with the same content, status and headers.

import { GraphQLError } from 'graphql'
import { createSchema, createYoga } from 'graphql-yoga'
import { expect, test } from 'vitest'
import { JsonText } from '../../../../src/runtime/json/text.ts'
import { LARGE_ANSWER_BYTES, useLargeAnswers } from '../../../../src/server/load/large-answers.ts'

const line = `"${'löng '.repeat(100)}"\n`
const LINES = 2_000

const schema = createSchema({
  typeDefs: `
    scalar Json
    type Query { lines(count: Int!): [String!]!  json: Json  failing: String }
  `,
  resolvers: {
    Query: {
      lines: (_: unknown, { count }: { count: number }) => Array.from({ length: count }, () => line),
      json: () => new JsonText(JSON.stringify({ line }), 1),
      failing() {
        throw new GraphQLError('It fails.', { extensions: { code: 'NOT_FOUND', http: { status: 404 } } })
      },
    },
  },
})
const servers = {
  stock: createYoga({ schema, logging: false }),
  ours: createYoga({ schema, logging: false, plugins: [useLargeAnswers()] }),
}

async function ask(server: keyof typeof servers, query: string, accept = 'application/json') {
  const headers = { 'content-type': 'application/json', accept, origin: 'http://localhost:1' }
  const body = JSON.stringify({ query })
  const response = await servers[server].fetch('http://localhost/graphql', { method: 'POST', headers, body })
  const pieces: Buffer[] = []
  for await (const piece of response.body!) pieces.push(Buffer.from(piece))
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: String(Buffer.concat(pieces)),
    largest: Math.max(...pieces.map(({ length }) => length)),
  }
}

test.each([
  ['a list', `{ lines(count: ${LINES}) }`, undefined],
  ['a list, as application/graphql-response+json', `{ lines(count: ${LINES}) }`, 'application/graphql-response+json'],
  ['a list, as multipart/mixed', `{ lines(count: ${LINES}) }`, 'multipart/mixed'],
  ['several lists with an error', `{ a: lines(count: 600) failing b: lines(count: 900) }`, undefined],
  ['JSON that is known as text', `{ json lines(count: ${LINES}) }`, undefined],
])('a large answer is sent in pieces, as stock yoga sends it in one: %s', async (_, query, accept) => {
  const [stock, ours] = [await ask('stock', query, accept), await ask('ours', query, accept)]
  expect(ours.text.length).toBeGreaterThan(LARGE_ANSWER_BYTES)
  // A comparison by `toEqual` would print megabytes.
  expect(ours.text === stock.text).toBe(true)
  expect([ours.status, ours.headers]).toEqual([stock.status, stock.headers])
  expect(stock.largest).toBeGreaterThan(LARGE_ANSWER_BYTES)
  expect(ours.largest).toBeLessThan(LARGE_ANSWER_BYTES / 2)
})

test('a small answer is sent as stock yoga sends it', async () => {
  const query = '{ failing lines(count: 2) }'
  expect(await ask('ours', query)).toEqual(await ask('stock', query))
})
