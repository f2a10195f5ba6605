// The words for operators: durations, shares, keys, the verification of the audit log, receipts.

import { expect, it } from 'vitest'
import {
  durationOf,
  embeddedText,
  isSameName,
  JOBS,
  JOB_STATES,
  keyState,
  localInput,
  partOf,
  receiptFile,
  receiptRows,
  RETENTIONS,
  RIGHTS,
  verbWords,
  verificationText,
} from '../../../../src/web/operations/words.ts'
import { schema } from '../../../../src/graphql/schema.ts'

it.each([
  ['JobName', JOBS],
  ['JobState', JOB_STATES],
  ['Retention', RETENTIONS],
  ['Right', RIGHTS],
])('every value of %s has words', (name, words) => {
  const { values } = schema.getType(name)!.toConfig() as { values: object }
  expect(Object.keys(words).toSorted()).toEqual(Object.keys(values).toSorted())
})

it.each([
  [0.2, 'less than a second'],
  [1, '1 second'],
  [59.4, '59 seconds'],
  [60, '1 minute'],
  [61, '1 minute 1 second'],
  [7_500, '2 hours 5 minutes'],
  [86_400, '1 day'],
  [90_061, '1 day 1 hour'],
  [2_592_000, '30 days'],
])('%d seconds are %s', (seconds, text) => expect(durationOf(seconds)).toBe(text))

it.each([
  [0, 'There are no entries to embed yet.'],
  [1, 'The only entry is embedded by e5, for searches by meaning.'],
  [1_200, 'All 1,200 entries are embedded by e5, for searches by meaning.'],
])('%d embedded entries', (done, text) => expect(embeddedText(done, 'e5')).toBe(text))

it.each([
  ['Garden', 'Garden', true],
  [' Garden ', 'Garden', true],
  ['A title', 'A  title', true],
  ['A title', ' A\t title', true],
  ['caf\u0065\u0301', 'caf\u00e9', true],
  ['garden', 'Garden', false],
  ['Atitle', 'A title', false],
  ['', 'Garden', false],
])('typing "%s" for "%s" is the same name: %s', (typed, name, expected) =>
  expect(isSameName(typed, name)).toBe(expected),
)

it.each([
  [0, 0, 1],
  [10, 0, 1],
  [0, 10, 0],
  [30, 10, 0.75],
])('%d done and %d left is %d', (done, remaining, part) => expect(partOf(done, remaining)).toBe(part))

it.each([
  ['eraseUser', 'Erase user'],
  ['createApiKey', 'Create API key'],
  ['overflow', 'Overflow'],
])('the verb %s is "%s"', (verb, words) => expect(verbWords(verb)).toBe(words))

it.each([
  [null, null, 'Valid'],
  [null, '2026-01-02T00:00:00Z', 'Valid'],
  [null, '2026-01-01T00:00:00Z', 'Expired'],
  ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'Revoked'],
])('a key revoked at %s that expires at %s is %s', (revokedAt, expiresAt, words) =>
  expect(keyState({ revokedAt, expiresAt }, Date.parse('2026-01-01T00:00:00Z'))[0]).toBe(words),
)

const whole = {
  brokenReason: null,
  brokenSeq: null,
  endCursor: 'x',
  hash: 'h',
  isComplete: true,
  keyedFrom: 1,
  verifiedThrough: 12_000,
}
it.each([
  [whole, true, /^The log is intact up to its newest line, 12,000\.$/],
  [{ ...whole, keyedFrom: '9' }, true, /The lines before 9 have plain hashes/],
  [{ ...whole, keyedFrom: null }, true, /hashes are plain.*INTEGRITY_KEY/],
  [{ ...whole, verifiedThrough: 0, keyedFrom: null }, true, /no lines yet/],
  [{ ...whole, brokenSeq: 7, brokenReason: 'MISSING' }, false, /Line 7 is the first.*it does not exist/],
  [{ ...whole, brokenSeq: 7, brokenReason: 'NEW_REASON' }, false, /NEW_REASON/],
])('%o is verified in words', (part, isIntact, text) => {
  const result = verificationText(part)
  expect(result.isIntact).toBe(isIntact)
  expect(result.text).toMatch(text)
})

it('writes a time as an input takes it, to the minute', () => {
  const at = '2026-03-04T05:06:07.000Z'
  expect(localInput(at)).toMatch(/^2026-03-0[345]T\d\d:\d\d$/)
  expect(new Date(localInput(at)).toISOString()).toBe('2026-03-04T05:06:00.000Z')
})

it('a receipt keeps its document unchanged', () => {
  const document = '{"a": "\\u00e9",\n "b":1}'
  const { name, content } = receiptFile({ id: 'a/b-1', document, signature: 'f00' })
  expect(name).toBe('erasure-a_b-1.json')
  expect(JSON.parse(content)).toEqual({ document, signature: 'f00' })
  const counts = { conversations: 1, turns: 2, facts: 3, summaries: 4, profiles: 5, held: 6 }
  expect(receiptRows(counts).map(([, count]) => count)).toEqual([1, 2, 3, 4, 5, 6])
})
