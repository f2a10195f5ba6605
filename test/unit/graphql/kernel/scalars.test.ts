// The scalars DateTime and JSON: accepted values, rejected values, and serialisation.

import { parseValue, valueFromAST, type GraphQLScalarType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../../src/graphql/schema.ts'

const DateTime = schema.getType('DateTime') as GraphQLScalarType<Date>
const Json = schema.getType('JSON') as GraphQLScalarType

describe('DateTime', () => {
  it.each([
    ['2026-03-01T09:30:00Z', '2026-03-01T09:30:00.000Z'],
    ['2026-03-01T09:30:00.123456Z', '2026-03-01T09:30:00.123Z'],
    ['2026-03-01T09:30+05:30', '2026-03-01T04:00:00.000Z'],
    ['2024-02-29t23:59:59z', '2024-02-29T23:59:59.000Z'],
    ['1969-12-31T23:00:00-02:00', '1970-01-01T01:00:00.000Z'],
  ])('parses %s, and serialises it in UTC with milliseconds', (given, printed) => {
    expect(DateTime.serialize(DateTime.parseValue(given))).toBe(printed)
  })

  it.each([
    '2026-03-01',
    '2026-03-01T09:30:00',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-03-01T25:00:00Z',
    '2026-03-01T09:30:60Z',
    '2026-03-01T09:30:00+99:99',
    '0000-12-31T23:59:59Z',
    '9999-12-31T23:59:59-01:00',
    '2026-03-01T09:30:00Z ',
    'Sun, 01 Mar 2026 09:30:00 GMT',
    'now',
    '',
    1_772_357_400_000,
    null,
    true,
    {},
  ])('rejects %j', (given) => {
    expect(() => DateTime.parseValue(given)).toThrow('is not a DateTime')
  })

  it('rejects number literals', () => {
    expect(() => DateTime.parseLiteral(parseValue('1772357400000'))).toThrow('is not a DateTime')
    expect(DateTime.parseLiteral(parseValue('"2026-03-01T09:30:00Z"'))).toEqual(new Date('2026-03-01T09:30:00Z'))
  })
})

describe('JSON', () => {
  const read = (literal: string, variables?: Record<string, unknown>) =>
    JSON.parse(JSON.stringify(valueFromAST(parseValue(literal), Json, variables)))

  it('accepts literals of every kind', () => {
    expect(read('{ a: [1, -2.5, "x", true, null, { b: {} }] }')).toEqual({ a: [1, -2.5, 'x', true, null, { b: {} }] })
  })

  it('accepts variables, also within a literal', () => {
    expect(read('$x', { x: { deep: [1] } })).toEqual({ deep: [1] })
    expect(read('{ a: $x, b: [$x] }', { x: { c: 1 } })).toEqual({ a: { c: 1 }, b: [{ c: 1 }] })
  })

  it('keeps a key named __proto__ as a property', () => {
    const value = valueFromAST(parseValue('{ __proto__: { admin: true } }'), Json) as Record<string, unknown>
    expect(value.admin).toBeUndefined()
    expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true}}')
  })

  it('serialises values unchanged', () => {
    for (const value of [{ a: 1 }, [1], 'x', 0, false]) expect(Json.serialize(Json.parseValue(value))).toEqual(value)
  })
})
