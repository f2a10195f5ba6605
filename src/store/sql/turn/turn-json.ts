// Turns as JSON that Postgres renders: the list of a page's turns passes through the server as text, so that the server
// neither converts rows to objects nor serialises objects. Its processor time falls by a third for 50 turns, and by two
// thirds for 50 conversations of 20 turns; that of Postgres rises by a quarter (2026-11-26, `npm run bench -- http`).

import { raw, sql, type Sql } from '../kernel/sql.ts'
import type { TurnRow } from './turn-columns.ts'

/**
 * How each property that can be rendered is printed. `unescaped` is a string without characters that JSON escapes. Only
 * a `string` may be null.
 */
const KINDS = {
  id: 'unescaped',
  seq: 'number',
  actor: 'string',
  role: 'unescaped',
  status: 'unescaped',
  text: 'string',
  tokenCount: 'number',
  model: 'string',
  adapter: 'string',
  traceId: 'string',
  pinned: 'boolean',
  abortReason: 'string',
  createdAt: 'time',
} as const satisfies Partial<Record<keyof TurnRow, string>>

type Property = keyof typeof KINDS
type Kind = (typeof KINDS)[Property]

/** The argument of Postgres's `format` for a column, as SQL of the type text. */
const ARGUMENT: Record<Kind, (column: string) => string> = {
  unescaped: (column) => `${column}::text`,
  number: (column) => `${column}::text`,
  boolean: (column) => `${column}::text`,
  string: (column) => `coalesce(to_json(${column})::text, 'null')`,
  time: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}
const isQuoted = (kind: Kind) => kind === 'unescaped' || kind === 'time'

/** The turn's cursor, as SQL of the type text: the same as domain/turn/history.ts encodes. */
const CURSOR = `translate(rtrim(encode(convert_to('turn:' || t."position" || ':' || t.seq, 'UTF8'), 'base64'), '='), '+/', '-_')`

/**
 * The properties that can be rendered, in the order of the arguments. The last argument is the cursor.
 * @internal Exported for tests.
 */
export const PROPERTIES: readonly Property[] = Object.keys(KINDS) as Property[]

export const canRender = (property: string): property is Property => Object.hasOwn(KINDS, property)

/** How to render a list of turns. */
export type TurnTemplate = {
  /** The format string of one item, for Postgres's `format`. The arguments are PROPERTIES, in their order. */
  format: string
  /** Number of values in the JSON of one item. */
  values: number
  /** Whether the format contains the cursor. */
  withCursors: boolean
  /** Whether the positions of the first and the last turn are needed. */
  withEnds: boolean
}

/**
 * A field of an object: its key, and its value, which is a property of the turn, the turn's cursor, a constant or an
 * object.
 */
export type TemplateField = {
  key: string
  value: Property | 'cursor' | { constant: string } | { fields: readonly TemplateField[] }
}

/** Returns the format string that prints an object with these fields. */
export const objectFormat = (fields: readonly TemplateField[]): string =>
  `{${fields.map(({ key, value }) => `"${key}":${valueFormat(value)}`).join(',')}}`

function valueFormat(value: TemplateField['value']): string {
  if (value === 'cursor') return `"%${PROPERTIES.length + 1}$s"`
  if (typeof value === 'string') {
    const argument = `%${PROPERTIES.indexOf(value) + 1}$s`
    return isQuoted(KINDS[value]) ? `"${argument}"` : argument
  }
  return 'constant' in value ? JSON.stringify(value.constant).replaceAll('%', '%%') : objectFormat(value.fields)
}

/**
 * Returns the SQL of the JSON of turn `t`, a row of a subquery that selects TURN_COLUMNS.
 * @param format the parameter with the format string
 * @param withCursors the parameter that says whether the format contains the cursor
 * @param text SQL of the turn's text
 */
export const turnJson = (format: Sql, withCursors: Sql, text: string): Sql => {
  const columns = PROPERTIES.map((property) =>
    ARGUMENT[KINDS[property]](property === 'text' ? text : `t."${property}"`),
  )
  return sql`format(${format}::text, ${raw(columns.join(', '))}, CASE WHEN ${withCursors}::boolean THEN ${raw(CURSOR)} END)`
}
