// The custom scalars: DateTime, BigInt and JSON.

import { GraphQLError } from 'graphql'
import { JSON_DEPTH } from '../../domain/kernel/input.ts'
import { builder } from './builder.ts'

const ISO = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i

/** Parses an ISO 8601 time with a zone, to the millisecond. @throws GraphQLError */
function parseDateTime(value: unknown): Date {
  const match = typeof value === 'string' ? ISO.exec(value) : null
  if (match) {
    const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
    const date = new Date((value as string).toUpperCase().replace(',', '.'))
    // JavaScript reads 30 February as 1 or 2 March.
    const isInMonth = day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
    // Postgres has no year 0, and years are printed with four digits.
    const utc = date.getUTCFullYear()
    if (isInMonth && utc >= 1 && utc <= 9999) return date
  }
  throw new GraphQLError(
    `${JSON.stringify(value)} is not a DateTime: use ISO 8601 with a zone, like "2026-03-01T09:30:00Z".`,
  )
}

builder.scalarType('DateTime', {
  description:
    'A time in ISO 8601 with a time zone, for example `2026-03-01T09:30:00.000Z`. Inputs may have any time zone, and are '
    + 'rounded down to milliseconds; outputs are in UTC.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  serialize: (date) => date.toISOString(),
  parseValue: parseDateTime,
})

builder.scalarType('BigInt', {
  description:
    'An integer from 0 to 9,007,199,254,740,991 (2^53 − 1), as a JSON number. For counts that may exceed the range of Int.',
  specifiedByURL: 'https://tc39.es/ecma262/#sec-number.max_safe_integer',
  serialize: (count) => count,
})

// The default parseLiteral of graphql-js calls parseValue, and substitutes variables inside the literal.
builder.scalarType('JSON', {
  description: `Any JSON value; in inputs nested at most ${JSON_DEPTH} levels deep. As a literal, it may contain variables.`,
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  serialize: (value) => value,
  parseValue: (value) => value as Record<string, unknown>,
})
