// The errors that clients receive: mistakes of the client keep their text, and failures of the server are hidden and
// logged.

import { buildSchema, GraphQLError, parse } from 'graphql'
import { describe, expect, it, vi } from 'vitest'
import { NotFound } from '../../../../src/errors.ts'
import { executeOperation } from '../../../../src/graphql/kernel/execution/executor.ts'
import { maskWith } from '../../../../src/server/graphql/yoga.ts'

const schema = buildSchema('type Query { number(of: Int! = 1): Int numbers: [Int!] }')
const SECRET = 'a secret'

/** Returns the masked errors of an operation whose fields are resolved by `field`, and the logged errors. */
async function errorsOf(query: string, field: () => unknown, variableValues: Record<string, unknown> = {}) {
  const error = vi.fn()
  const rootValue = { number: field, numbers: field }
  const args = { schema, document: parse(query), rootValue, variableValues, contextValue: {} }
  const { errors = [] } = await executeOperation(args)
  const masked = errors.map(maskWith({ log: { error } } as never))
  return { masked: masked.map(({ message, path, extensions }) => ({ message, path, code: extensions.code })), error }
}

describe('an error', () => {
  it.each<[string, string, () => unknown]>([
    ['thrown by a resolver', '{ number }', () => Promise.reject(new Error(SECRET))],
    ['of a value that its scalar cannot serialise', '{ number }', () => SECRET],
    ['of an item that its scalar cannot serialise', '{ numbers }', () => [1, SECRET]],
    ['of a required value that is null', '{ numbers }', () => [null]],
  ])('%s is hidden and logged', async (_, query, field) => {
    const { masked, error } = await errorsOf(query, field)
    expect(masked).toMatchObject([{ message: 'Unexpected error.', code: 'INTERNAL_SERVER_ERROR' }])
    expect(error).toHaveBeenCalledOnce()
  })

  it.each<[string, string, () => unknown, string, string]>([
    ['of an argument', 'query ($of: Int) { number(of: $of) }', () => 1, 'INVALID_INPUT', 'must not be null'],
    ['of a variable', 'query ($of: Int!) { number(of: $of) }', () => 1, 'INVALID_INPUT', 'of non-null type'],
    [
      'with a code',
      '{ number }',
      () => new GraphQLError('too much', { extensions: { code: 'TOO_MUCH' } }),
      'TOO_MUCH',
      'too much',
    ],
    ['of the domain', '{ number }', () => new NotFound('turn', 'turn_1'), 'NOT_FOUND', 'turn_1'],
  ])('%s keeps its text', async (_, query, field, code, text) => {
    const { masked, error } = await errorsOf(query, field, { of: null })
    expect(masked).toMatchObject([{ code, message: expect.stringContaining(text) }])
    expect(error).not.toHaveBeenCalled()
  })
})
