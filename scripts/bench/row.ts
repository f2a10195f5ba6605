// The rows of a comparison with other software or with hand-written SQL: measured in interleaved rounds, and printed
// with the target of each.

import { format, interleaved, median, reasonOf, table, type Progress } from './figures.ts'

/** One verb of both sides. Rates are better when larger, times when smaller. */
export type Row = {
  label: string
  /** The name of the other side. */
  against: string
  /** The target: the minimum ratio. Null if the row has no target. */
  asked: number | null
  unit: 'ms' | '/s' | 'µs'
  /** Minimum time for which each side runs before the rounds, ms; 0 for one round. */
  warmUpMs?: number
  /** Throws unless both sides do the same work. Called once, before the rounds. */
  check?(): Promise<void>
  /** Each measures one round, in `unit`. */
  ours(): Promise<number>
  theirs(): Promise<number>
}

/** The rounds of a row, or the reason why it could not run. */
export type Measured =
  | (Pick<Row, 'label' | 'against' | 'asked' | 'unit'> & { ours: number[]; theirs: number[] })
  | { label: string; against: string; asked: number | null; unit: Row['unit'] | ''; failure: string }

const ROUNDS = 5
/** Warm-up of each side, ms: V8 optimises functions after some hundred calls, and the caches fill. */
export const WARM_UP_MS = 2_000
/** Warm-up of each server over HTTP, ms: a request runs much code once, which V8 optimises after some thousand requests. */
export const HTTP_WARM_UP_MS = 8_000

/**
 * Number of calls in a round: of one caller, and of all concurrent callers. V8 discards optimised code in the garbage
 * collection before a round, and needs some 60 calls to optimise it again.
 */
export const CALLS = 200
export const SHARED_CALLS = 640

/** Measures the row after the warm-up of both sides. A row that cannot run is reported with its reason. */
export async function measure(row: Row, progress: Progress): Promise<Measured> {
  const { label, against, asked, unit } = row
  try {
    await row.check?.()
    const contestants = { ours: () => row.ours(), theirs: () => row.theirs() }
    for (const warmUp of Object.values(contestants)) {
      const end = performance.now() + (row.warmUpMs ?? 0)
      do await warmUp()
      while (performance.now() < end)
    }
    const rounds = await interleaved(ROUNDS, contestants, (message) => progress(`${label}: ${message} ${unit}`))
    return { label, against, asked, unit, ...rounds }
  } catch (error) {
    progress(`${label} failed: ${String(error)}`)
    return { label, against, asked, unit, failure: reasonOf(error) }
  }
}

/** Measures the rows of all parts. A part that cannot start is reported as one row with its reason. */
export async function measureParts(
  parts: readonly [label: string, measure: () => Promise<Measured[]>][],
  progress: Progress,
): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const [label, measurePart] of parts) {
    try {
      measured.push(...(await measurePart()))
    } catch (error) {
      progress(`${label} failed: ${(error as Error).stack?.slice(0, 600)}`)
      measured.push({ label, against: '', asked: null, unit: '', failure: reasonOf(error) })
    }
  }
  return measured
}

/** The ratio of each round; above 1 if ours is better. */
export const ratios = (ours: readonly number[], theirs: readonly number[], unit: Row['unit']): number[] =>
  ours.map((one, round) => (unit === '/s' ? one / theirs[round]! : theirs[round]! / one))

/**
 * The lines of the table: the median ratio of the rounds, its range, and the verdict.
 * @param headings of the columns `against` and `theirs`
 */
export function tableOf(measured: readonly Measured[], headings: { against: string; theirs: string }): string[] {
  const header = ['', headings.against, 'ours', headings.theirs, 'unit', 'asked', 'ratio', 'range', '']
  const rows = measured.map((row) => {
    const start = [row.label, row.against]
    const asked = row.asked === null ? '' : `≥ ${row.asked}×`
    if ('failure' in row) return [...start, '–', '–', row.unit, asked, '–', '–', `not run: ${row.failure}`]
    const all = ratios(row.ours, row.theirs, row.unit)
    return [
      ...start,
      format(median(row.ours)),
      format(median(row.theirs)),
      row.unit,
      asked,
      `${median(all).toFixed(2)}×`,
      `${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)}`,
      row.asked === null ? '' : median(all) >= row.asked ? 'ok' : 'below target',
    ]
  })
  return table(header, rows, (column) => [2, 3, 5, 6].includes(column))
}
