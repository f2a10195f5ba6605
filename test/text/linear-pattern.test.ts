// The operator's patterns: matching, linear time, and patterns that are refused.

import { expect, test } from 'vitest'
import { linearPattern } from '../../src/text/linear-pattern.ts'
import { redact } from '../../src/text/redact.ts'

test('finds every match, in UTF-16 offsets', () => {
  const badge = linearPattern('badge', String.raw`B-\d{4}`)
  expect(redact('😀 B-1234, b-1234, B-5678.', [badge]).text).toBe('😀 [BADGE], b-1234, [BADGE].')
})

test('matches a pattern that would backtrack exponentially in linear time', () => {
  const nested = linearPattern('nested', '(a+)+b')
  const seconds = (length: number) => {
    const start = performance.now()
    expect([...(nested as (text: string) => Iterable<unknown>)('a'.repeat(length))]).toEqual([])
    return performance.now() - start
  }
  // A backtracking engine needs longer than the age of the universe for either.
  expect(seconds(100) + seconds(200_000)).toBeLessThan(30_000)
})

test.each([
  ['a lookaround', '(?<=a)b'],
  ['a backreference', String.raw`(a)\1`],
  ['a mistake', '('],
  ['the empty text', 'a*'],
])('refuses %s', (_, pattern) => expect(() => linearPattern('x', pattern)).toThrow())
