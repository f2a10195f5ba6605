// The shape of documents, and the limits that need no schema.

import { parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../../src/config/config.ts'
import { documentError, shapeOf, type DocumentShape } from '../../../../../src/graphql/kernel/limits/document.ts'

const limits = loadConfig({}).operationLimits
const errorOf = (text: string, more: Partial<typeof limits> = {}) =>
  documentError(parse(text), { ...limits, ...more })?.extensions

describe('shapeOf', () => {
  it.each<[string, string, Partial<DocumentShape>]>([
    ['one field', '{ a }', { depth: 1, fields: 1, aliases: 0, directives: 0, repeats: 0, introspection: null }],
    ['nested fields', '{ a { b { c } } d }', { depth: 3, fields: 4 }],
    ['inline fragments, which add no level', '{ a { ... on T { b } ... { c } } }', { depth: 2, fields: 3 }],
    [
      'a fragment wherever it is used',
      '{ x: a { ...F } y: a { ...F } } fragment F on T { b { c } }',
      { depth: 3, fields: 6, aliases: 2 },
    ],
    [
      'fragments that multiply',
      `{ ...A } ${['AB', 'BC', 'CD'].map(([from, to]) => `fragment ${from} on T { a { ...${to} } b { ...${to} } }`).join(' ')}
      fragment D on T { c }`,
      { depth: 4, fields: 2 + 4 + 8 + 8 },
    ],
    [
      'fragments that include themselves',
      '{ ...A } fragment A on T { a { ...B } } fragment B on T { ...A b }',
      { depth: 2 },
    ],
    ['unused fragments', '{ a } fragment F on T { x: b @skip(if: true) }', { fields: 1, aliases: 1, directives: 1 }],
    ['unknown fragments', '{ ...None }', { depth: 0, fields: 0 }],
    ['all operations', 'query A { a } query B { a { b } }', { depth: 2, fields: 3 }],
    [
      'directives on operations, fields and fragments',
      'query @x { a @x @y ... @x { b } ...F @x } fragment F on T { c }',
      { directives: 5 },
    ],
    ['repeated names, in each selection set', '{ a a b: a b: a c { a a } }', { repeats: 3 }],
    ['repeated names in inline fragments', '{ a ... on T { a } ... on U { ... { a } } }', { repeats: 2 }],
    ['repeated fragments', '{ ...F ...F } fragment F on T { a }', { repeats: 1 }],
    [
      'queries of the schema',
      '{ a { ...F } } fragment F on T { __schema { types { name } } }',
      { introspection: '__schema' },
    ],
    ['__typename, which is not a query of the schema', '{ __typename }', { introspection: null }],
  ])('counts %s', (_, text, shape) => {
    expect(shapeOf(parse(text))).toMatchObject(shape)
  })

  it('takes linear time for fragments that multiply', () => {
    const levels = Array.from(
      { length: 60 },
      (_, at) => `fragment F${at} on T { a { ...F${at + 1} } b { ...F${at + 1} } }`,
    )
    expect(shapeOf(parse(`{ ...F0 } ${levels.join(' ')} fragment F60 on T { c }`)).fields).toBeGreaterThan(2 ** 60)
  })
})

describe('documentError', () => {
  it.each([
    ['depth', '{ a { b { c } } }', { depth: 2 }, 3],
    ['fields', '{ a { b c } }', { fields: 2 }, 3],
    ['aliases', '{ x: a y: a }', { aliases: 1 }, 2],
    ['directives', '{ a @skip(if: false) }', { directives: 0 }, 1],
    ['repeats', '{ a a a }', { repeats: 1 }, 2],
  ])('names the limit of %s, its maximum and the actual number', (limit, text, more, actual) => {
    expect(errorOf(text, more)).toEqual({
      code: 'QUERY_TOO_COSTLY',
      limit,
      maximum: more[limit as keyof typeof more],
      actual,
    })
    expect(errorOf(text)).toBeUndefined()
  })

  it('rejects queries of the schema if introspection is off', () => {
    expect(errorOf('{ __schema { types { name } } }', { introspection: false })).toEqual({
      code: 'INTROSPECTION_DISABLED',
    })
    expect(errorOf('{ __type(name: "Turn") { name } }', { introspection: true })).toBeUndefined()
    expect(errorOf('{ __typename }', { introspection: false })).toBeUndefined()
  })

  it('rejects a directive that is repeated at one place, with one error', () => {
    expect(errorOf('{ a @x @y @x @x }')).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
    expect(errorOf('query @x @x { a }')).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
    expect(errorOf('{ a @x @y b @x }')).toBeUndefined()
  })
  it('rejects literals deeper than JSON may be in input objects, wherever they are', () => {
    const lists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const objects = (depth: number) => `${'{ a: '.repeat(depth)}1${'}'.repeat(depth)}`
    for (const nested of [lists, objects]) {
      for (const text of [
        (depth: number) => `{ a(b: ${nested(depth)}) }`,
        (depth: number) => `query ($b: JSON = ${nested(depth)}) { a(b: $b) }`,
        (depth: number) => `{ a { ...F } } fragment F on T { b @x(c: ${nested(depth)}) }`,
      ]) {
        expect(errorOf(text(80))).toBeUndefined()
        for (const depth of [81, 500]) {
          expect(errorOf(text(depth))).toEqual({
            code: 'INVALID_INPUT',
            issues: [{ path: [], message: 'must be nested at most 64 levels deep' }],
          })
        }
      }
    }
  })
})
