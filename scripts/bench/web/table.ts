// The table of the web app's figures: a column for each checkout, and what the first one is compared with.

import { format, table } from '../figures.ts'

/** `base`: the same figure of the page described by `against`. `limit`: the maximum. */
export type Row = { label: string; unit: string; value: number; base?: number; against?: string; limit?: number }

/** Returns the lines of the table. All columns have the same rows. */
export function tableOf(columns: Record<string, readonly Row[]>): string[] {
  const names = Object.keys(columns)
  const [first = []] = Object.values(columns)
  const lines = first.map(({ label, unit, value, base, against, limit }, index) => [
    label,
    ...names.map((name) => format(columns[name]![index]!.value)),
    unit,
    base === undefined ? '' : format(base),
    base === undefined ? '' : `${(value / base).toFixed(2)}×`,
    limit === undefined ? '' : format(limit),
    limit === undefined ? '' : value <= limit ? 'ok' : 'above limit',
    against ?? '',
  ])
  const header = ['', ...names, 'unit', 'base', 'ratio', 'limit', '', 'base is']
  const isNumber = (column: number) => column > 0 && column <= names.length + 4 && column !== names.length + 1
  return table(header, lines, isNumber)
}
