// The GraphQL errors of expected failures, and of all other errors.

import { GraphQLError, Source } from 'graphql'
import { describe, expect, it } from 'vitest'
import { Conflict, InvalidInput, NotFound, StreamClosed } from '../../../../src/errors.ts'
import { toGraphQLError } from '../../../../src/graphql/kernel/errors.ts'

describe('toGraphQLError', () => {
  it('returns the message, code, path and location of an expected failure', () => {
    const thrown = new GraphQLError('x', {
      path: ['conversation', 'turns'],
      source: new Source('{ a }'),
      positions: [2],
      originalError: new NotFound('turn', 'turn_1'),
    })
    const formatted = toGraphQLError(thrown)!
    expect(JSON.parse(JSON.stringify(formatted))).toEqual({
      message: 'There is no turn "turn_1" that you can see.',
      locations: [{ line: 1, column: 3 }],
      path: ['conversation', 'turns'],
      extensions: { code: 'NOT_FOUND' },
    })
  })

  it('lists every issue of an input', () => {
    const issues = [
      { path: ['first'], message: 'is 9' },
      { path: [], message: 'no' },
    ]
    expect(toGraphQLError(new InvalidInput(issues))!.extensions).toEqual({ code: 'INVALID_INPUT', issues })
  })

  it('unwraps an expected failure from nested GraphQL errors', () => {
    const inner = new GraphQLError('x', { originalError: new Conflict('The conversation changed.') })
    expect(toGraphQLError(new GraphQLError('y', { originalError: inner }))!.extensions.code).toBe('CONFLICT')
    expect(toGraphQLError(new StreamClosed('turn_1', 'ABORTED'))!.extensions.code).toBe('STREAM_CLOSED')
  })

  it.each([
    new Error('connection refused'),
    new GraphQLError('Syntax Error'),
    'text',
    null,
    undefined,
    new GraphQLError('x', { originalError: new TypeError('undefined is not a function') }),
  ])('returns null for any other error: %s', (error) => {
    expect(toGraphQLError(error)).toBeNull()
  })
})
