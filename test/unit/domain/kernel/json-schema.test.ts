// Checks of values against JSON Schemas, even if a check would not end.

import { expect, it } from 'vitest'
import { problemOf as problemIn } from '../../../../src/domain/kernel/json-schema.ts'

const problemOf = (schema: Record<string, unknown>, value: unknown) => problemIn(schema, value)?.reason ?? null

it('problemOf returns null for arguments that match, and otherwise names the property', () => {
  const schema = { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] }
  expect(problemOf(schema, { city: 'Oslo' })).toBeNull()
  expect(problemOf(schema, { city: 7 })).toContain('city')
  expect(problemOf(schema, {})).toContain('city')
})

it('problemOf resolves references, and reports a broken one', () => {
  const schema = { $defs: { city: { type: 'string' } }, properties: { city: { $ref: '#/$defs/city' } } }
  expect(problemOf(schema, { city: 'Oslo' })).toBeNull()
  expect(problemIn({ $ref: '#/$defs/none' }, {})).toEqual({ isOf: 'schema', reason: expect.stringContaining('$ref') })
})

it('problemOf checks again what timed out because the process did not run', () => {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  let reads = 0
  const value = {
    get city() {
      // Like a busy machine, this takes time but no processor time.
      if (reads++ === 0) Atomics.wait(pause, 0, 0, 1_000)
      return 7
    },
  }
  expect(problemOf({ properties: { city: { type: 'string' } } }, value)).toContain('city')
  expect(reads).toBeGreaterThan(1)
})

it.each([
  ['a slow pattern', { properties: { a: { pattern: '^(a+)+$' } } }],
  ['an endless reference', { $ref: '#' }],
])('problemOf returns a problem instead of running without end for %s', (_, schema) => {
  const problem = problemIn(schema, { a: `${'a'.repeat(40)}!` }, 50)
  expect(problem).toMatchObject({ isOf: 'schema', reason: expect.stringMatching(/longer than 50 ms|stack/) })
})
