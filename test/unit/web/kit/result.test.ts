// The payload of a result.

import { describe, expect, it } from 'vitest'
import { ColloquyError } from '../../../../src/client/index.ts'
import { payloadOf } from '../../../../src/web/kit/result.ts'

describe('payloadOf', () => {
  it.each([[{ nodes: [] }], [{}], [null]])('returns %j', (payload) => expect(payloadOf(payload)).toBe(payload))

  it.each([
    [{ code: 'NOT_FOUND', message: 'Gone.' }, 'Gone.', []],
    [{ code: 'NOT_FOUND' }, 'NOT_FOUND', []],
    [
      { code: 'INVALID_INPUT', message: 'Wrong.', issues: [{ path: ['k'], message: 'too great' }] },
      'Wrong.',
      [{ path: ['k'], message: 'too great' }],
    ],
  ])('throws for %j', (result, message, issues) => {
    expect(() => payloadOf(result)).toThrow(new ColloquyError(result.code, message, { issues }))
  })
})
