// Masking of credentials in the log, and the reason that the log gives for an error.

import { describe, expect, test } from 'vitest'
import { describeError, maskCredentials, reasonOf } from '../../../src/runtime/log.ts'

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

describe('describeError', () => {
  const CANARY = 'canary-9c1'
  test.each([
    ['JSON.parse', () => JSON.parse(`{"${CANARY}" ${CANARY}`) as unknown],
    ['a type error', () => Reflect.apply(Object.defineProperty, null, [Object.freeze({}), CANARY, { value: 1 }])],
    [
      'Postgres',
      () => {
        throw Object.assign(new Error(`invalid input syntax for type integer: "${CANARY}"`), {
          code: '22P02',
          detail: `Failing row contains (${CANARY}).`,
          where: CANARY,
          internalQuery: CANARY,
          table: 'turn',
        })
      },
    ],
    [
      'a cause, and an aggregate',
      () => {
        throw new AggregateError([new Error(`'${CANARY}'`)], 'several', { cause: new Error(`"${CANARY}"`) })
      },
    ],
    [
      'a value that is no error',
      () => {
        // oxlint-disable-next-line no-throw-literal
        throw CANARY
      },
    ],
  ])('logs no content from %s', (_, fail) => {
    let thrown: unknown
    try {
      fail()
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeDefined()
    expect(JSON.stringify(describeError(thrown))).not.toContain(CANARY)
  })

  test('keeps the type, the codes, the cause with its message, and the stack frames', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED', port: 1 })
    expect(describeError(new TypeError('fetch failed', { cause }))).toEqual({
      type: 'TypeError',
      stack: expect.stringMatching(/^ +at .*log\.test\.ts/),
      cause: {
        type: 'Error',
        message: 'connect ECONNREFUSED 127.0.0.1:1',
        code: 'ECONNREFUSED',
        port: 1,
        stack: expect.stringContaining('log.test.ts'),
      },
    })
  })
})
