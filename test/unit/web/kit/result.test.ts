// Operations that the client has no function for.

import { expect, it } from 'vitest'
import type { Client } from '../../../../src/client/index.ts'
import { call } from '../../../../src/web/kit/result.ts'

/** Returns a client for the actor whose server answers with the result, and what it has received. */
function clientOf(result: unknown, as?: string) {
  const sent: unknown[] = []
  const request = async (_: string, variables: unknown, options: unknown) => {
    sent.push([variables, options])
    return { field: result }
  }
  return { sent, client: { as, request } as unknown as Client }
}
const query = 'query Q { field }'
const mutation = 'mutation M { field }'

it.each([[{ nodes: [] }], [{}], [null]])('returns %j', async (payload) =>
  expect(await call(clientOf(payload).client, { document: query })).toBe(payload),
)

it.each([
  ['a query', { document: query, variables: { id: 'a' } }, undefined, { id: 'a' }, false],
  ['a query of another actor', { document: query, variables: { id: 'a' } }, 'bob', { as: 'bob', id: 'a' }, false],
  ['a mutation, once', { document: mutation, input: { id: 'a' } }, undefined, { input: { id: 'a' } }, true],
  [
    'a mutation of another actor, once',
    { document: mutation, input: { id: 'a' } },
    'bob',
    { input: { as: 'bob', id: 'a' } },
    true,
  ],
  [
    'an input that names the actor',
    { document: query, input: { as: 'eve' }, variables: { format: 'X' } },
    'bob',
    { input: { as: 'eve' }, format: 'X' },
    false,
  ],
])('sends %s', async (_, operation, as, variables, once) => {
  const { sent, client } = clientOf({}, as)
  await call(client, operation, { timeoutMs: 5 })
  expect(sent).toEqual([[variables, { once, timeoutMs: 5 }]])
})

it.each([
  [{ code: 'NOT_FOUND', message: 'Gone.' }, 'Gone.', []],
  [{ code: 'NOT_FOUND' }, 'NOT_FOUND', []],
  [
    { code: 'INVALID_INPUT', message: 'Wrong.', issues: [{ path: ['k'], message: 'too great' }] },
    'Wrong.',
    [{ path: ['k'], message: 'too great' }],
  ],
])('throws for %j', (result, message, issues) =>
  expect(call(clientOf(result).client, { document: query })).rejects.toMatchObject({
    code: result.code,
    message,
    issues,
  }),
)
