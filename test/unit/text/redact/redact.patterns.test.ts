// The operator's redaction patterns: matching, linear time, and rejected patterns.

import { expect, test } from 'vitest'
import { redact, linearPattern } from '../../../../src/text/redact/redact.ts'

test('a pattern finds every match, in UTF-16 offsets', () => {
  const badge = linearPattern('badge', String.raw`B-\d{4}`)
  expect(redact('😀 B-1234, b-1234, B-5678.', [badge]).text).toBe('😀 [BADGE], b-1234, [BADGE].')
})

test('a pattern that would backtrack exponentially takes linear time', () => {
  const nested = linearPattern('nested', '(a+)+b')
  const seconds = (length: number) => {
    const start = performance.now()
    expect([...(nested as (text: string) => Iterable<unknown>)('a'.repeat(length))]).toEqual([])
    return performance.now() - start
  }
  // A backtracking engine would not finish either text.
  expect(seconds(100) + seconds(200_000)).toBeLessThan(30_000)
})

test.each([
  ['a lookaround', '(?<=a)b'],
  ['a backreference', String.raw`(a)\1`],
  ['a syntax error', '('],
  ['a match of the empty text', 'a*'],
])('a pattern with %s is refused', (_, pattern) => expect(() => linearPattern('x', pattern)).toThrow())
