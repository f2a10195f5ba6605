// The rows of the comparison with peers: measured in interleaved rounds, and printed with the target of each.

import { format, interleaved, median, reasonOf, table, type Progress } from '../figures.ts'

/** One verb of both sides. Rates are better when larger, times when smaller. */
export type Row = {
  label: string
  peer: string
  /** Minimum ratio that is asked for. */
  asked: number
  unit: 'ms' | '/s' | 'µs'
  /** Each measures one round, in `unit`. */
  ours(): Promise<number>
  theirs(): Promise<number>
}

/** The rounds of a row, or the reason why it could not run. */
export type Measured =
  | (Pick<Row, 'label' | 'peer' | 'asked' | 'unit'> & { ours: number[]; theirs: number[] })
  | { label: string; peer: string; asked: number | null; unit: Row['unit'] | ''; failure: string }

const ROUNDS = 5

/** Measures the row after a round of warm-up. A row that cannot run is reported with its reason. */
export async function measure(row: Row, progress: Progress): Promise<Measured> {
  const { label, peer, asked, unit } = row
  try {
    const contestants = { ours: () => row.ours(), theirs: () => row.theirs() }
    for (const warmUp of Object.values(contestants)) await warmUp()
    const rounds = await interleaved(ROUNDS, contestants, (message) => progress(`${label}: ${message} ${unit}`))
    return { label, peer, asked, unit, ...rounds }
  } catch (error) {
    progress(`${label} failed: ${String(error)}`)
    return { label, peer, asked, unit, failure: reasonOf(error) }
  }
}

/** The ratio of each round; above 1 if ours is better. */
export const ratios = (ours: readonly number[], theirs: readonly number[], unit: Row['unit']): number[] =>
  ours.map((one, round) => (unit === '/s' ? one / theirs[round]! : theirs[round]! / one))

/** The lines of the table: the median ratio of the rounds, its range, and the verdict. */
export function tableOf(measured: readonly Measured[]): string[] {
  const header = ['', 'peer', 'ours', 'theirs', 'unit', 'asked', 'ratio', 'range', '']
  const rows = measured.map((row) => {
    const start = [row.label, row.peer]
    if ('failure' in row) {
      const asked = row.asked === null ? '' : `≥ ${row.asked}×`
      return [...start, '–', '–', row.unit, asked, '–', '–', `not run: ${row.failure}`]
    }
    const all = ratios(row.ours, row.theirs, row.unit)
    return [
      ...start,
      format(median(row.ours)),
      format(median(row.theirs)),
      row.unit,
      `≥ ${row.asked}×`,
      `${median(all).toFixed(2)}×`,
      `${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)}`,
      median(all) >= row.asked ? 'ok' : 'below target',
    ]
  })
  return table(header, rows, (column) => [2, 3, 5, 6].includes(column))
}
