// Masking of credentials in the log, and the reason that the log gives for an error.

import { describe, expect, test } from 'vitest'
import { maskCredentials, reasonOf } from '../src/log.ts'

describe('maskCredentials', () => {
  test.each([
    ['postgres://u:secret@host:5432/db', 'postgres://***@host:5432/db'],
    ['redis://:secret@host', 'redis://***@host'],
    ['rediss://default:sec/ret@host/0', 'rediss://***@host/0'],
    ['at postgres://u:se@cret@host/db, and redis://u:secret@b', 'at postgres://***@host/db, and redis://***@b'],
    ['{"url":"postgres://u:secret@host/db","to":"a@b"}', '{"url":"postgres://***@host/db","to":"a@b"}'],
    ['postgres://host/db?password=secret&user=u', 'postgres://host/db?password=***&user=u'],
  ])('masks %s', (text, masked) => expect(maskCredentials(text)).toBe(masked))

  test.each([
    'http://127.0.0.1:4000/graphql',
    'postgres://host:5432/db',
    'mail ada@example.com: see https://example.com',
  ])('keeps %s', (text) => expect(maskCredentials(text)).toBe(text))
})

test.each([
  [new Error('connect ECONNREFUSED'), 'connect ECONNREFUSED'],
  [new AggregateError([new Error('connect ::1'), new Error('connect 127.0.0.1')]), 'connect ::1; connect 127.0.0.1'],
  [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
])('the reason of %s is %s', (error, reason) => expect(reasonOf(error)).toBe(reason))
