// The viewer of a request, from its headers.

import { describe, expect, test } from 'vitest'
import { InvalidInput } from '../../src/errors.ts'
import { viewerFrom } from '../../src/server/auth.ts'

const from = (headers: Record<string, unknown>) => viewerFrom((header) => headers[header])

describe('the viewer', () => {
  test('is anonymous in the default tenant without headers', () => {
    expect(from({})).toEqual({ tenant: 'default', actor: 'anonymous' })
    expect(from({ 'x-actor': '', 'x-tenant': null })).toEqual({ tenant: 'default', actor: 'anonymous' })
  })

  test('is read from the headers', () => {
    expect(from({ 'x-tenant': 'acme', 'x-actor': 'ada' })).toEqual({ tenant: 'acme', actor: 'ada' })
  })

  test.each([
    ['too long', 'x'.repeat(201)],
    ['not a string', 7],
    ['text that Postgres cannot store', 'a\0b'],
  ])('cannot have a name that is %s', (_, actor) => {
    expect(() => from({ 'x-actor': actor })).toThrow(InvalidInput)
  })
})
