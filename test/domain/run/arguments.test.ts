// Arguments of tool calls against their schemas, also schemas that would take forever.

import { expect, it } from 'vitest'
import { problemOf } from '../../../src/domain/run/arguments.ts'

it('finds no problem in arguments that match', () => {
  const schema = { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] }
  expect(problemOf(schema, { city: 'Oslo' })).toBeNull()
  expect(problemOf(schema, { city: 7 })).toContain('city')
  expect(problemOf(schema, {})).toContain('city')
})

it('resolves references, and reports a broken one', () => {
  const schema = { $defs: { city: { type: 'string' } }, properties: { city: { $ref: '#/$defs/city' } } }
  expect(problemOf(schema, { city: 'Oslo' })).toBeNull()
  expect(problemOf({ $ref: '#/$defs/none' }, {})).toMatch(/cannot be checked/)
})

it.each([
  ['a slow pattern', { properties: { a: { pattern: '^(a+)+$' } } }],
  ['an endless reference', { $ref: '#' }],
])('stops at %s', (_, schema) => {
  expect(problemOf(schema, { a: `${'a'.repeat(40)}!` })).toMatch(/cannot be checked|\S/)
})
