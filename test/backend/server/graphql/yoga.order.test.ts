// The order of yoga's plugins: what is checked first, and what a refused request does not cost.

import { expect, test } from 'vitest'
import { embedded } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

const limits = { MAX_BODY_BYTES: '2048', MAX_QUERY_VALUES: '1000' }
const server = useServer(embedded, limits, { settings: { rateLimitPoints: 2 } })
const codeOf = ({ body }: { body: { errors?: { extensions: { code: string } }[] } }) =>
  body.errors?.[0]?.extensions.code

test('an operation beyond the limits does not read the actor that it names', async () => {
  const costly = '{ conversations(first: 100, as: "nobody") { nodes { turns(first: 100) { nodes { id } } } } }'
  expect(codeOf(await server.post({ query: costly }, { 'x-actor': 'costly' }))).toBe('QUERY_TOO_COSTLY')
  const cheap = '{ conversations(first: 1, as: "nobody") { nodes { id } } }'
  expect(codeOf(await server.post({ query: cheap }, { 'x-actor': 'costly' }))).toBe('UNKNOWN_ACTOR')
})

test('a refused body takes no points', async () => {
  const query = '{ viewer { actor } }'
  const large = { query, variables: { unused: 'x'.repeat(4_000) } }
  const headers = { 'x-actor': 'sender' }
  for (let call = 0; call < 3; call++) {
    expect(codeOf(await server.post(large, { ...headers, 'x-batch': '1' }))).toBe('BODY_TOO_LARGE')
  }
  for (const code of [undefined, undefined, 'RATE_LIMITED']) {
    expect(codeOf(await server.post({ query }, headers))).toBe(code)
  }
})
