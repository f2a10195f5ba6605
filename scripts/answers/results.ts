// Formats the results of `npm run check:answers` as one table.

import { table } from '../bench/figures.ts'
import type { Row } from '../trust/section.ts'

/** Returns a row with a number that must equal `gate`. */
export const counted = (name: string, value: number, gate: number): Row => ({
  name,
  value: String(value),
  gate: String(gate),
  ok: value === gate,
})

/** Returns a row with a value for information, which cannot fail the run. */
export const informed = (name: string, value: string): Row => ({ name, value, gate: '', ok: true })

/** Returns the lines of the table, and whether all rows are ok. */
export const reportOf = (rows: readonly Row[]): { lines: string[]; isOk: boolean } => ({
  lines: table(
    ['what', 'value', 'gate', ''],
    rows.map(({ name, value, gate, ok }) => [name, value, gate, ok ? 'ok' : 'NOT OK']),
    () => false,
  ),
  isOk: rows.every(({ ok }) => ok),
})
