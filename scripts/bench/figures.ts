// The figures of a benchmark and their printed form: ratios measured in one run, and their targets.

/**
 * One comparison. Rates are better when larger, costs when smaller; in both cases a ratio above 1 means that our server
 * is better.
 */
export type Figure = {
  label: string
  ours: number
  theirs: number
  /** The name of the implementation or limit that `theirs` measures, as printed. */
  against: string
  unit: string
  better: 'larger' | 'smaller'
  /** The minimum ratio; null for a figure without a target. */
  target: number | null
}

/** A table of figures, and notes on the method. */
export type Report = { title: string; figures: Figure[]; notes: string[] }

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Prints a line about a running benchmark. */
export type Progress = (message: string) => void

/**
 * Runs rounds of all contestants, every other round in reverse order, so that other load on the machine affects all of
 * them equally. Returns the results of each contestant, in the order of the rounds.
 */
export async function interleaved<Name extends string>(
  rounds: number,
  contestants: Record<Name, () => Promise<number>>,
  progress: Progress,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contestants) as Name[]
  const results = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 ? names.toReversed() : names) {
      globalThis.gc?.()
      const result = await contestants[name]()
      results[name].push(result)
      progress(`round ${round + 1}/${rounds}  ${name}: ${format(result)}`)
    }
  }
  return results
}

/** Runs interleaved rounds. Returns the median of each contestant. */
export async function interleave<Name extends string>(
  rounds: number,
  contestants: Record<Name, () => Promise<number>>,
  progress: Progress,
): Promise<Record<Name, number>> {
  const results = Object.entries<number[]>(await interleaved(rounds, contestants, progress))
  return Object.fromEntries(results.map(([name, each]) => [name, median(each)])) as Record<Name, number>
}

/** Returns the first line of an error's message, at most 80 characters, for a table. */
export const reasonOf = (error: unknown): string =>
  String((error as Error).message ?? error)
    .split('\n')[0]!
    .slice(0, 80)

/** Returns the median time of `calls` calls in sequence, ms. */
export async function medianTime(calls: number, call: (n: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < calls; n++) {
    const begin = performance.now()
    await call(n)
    times.push(performance.now() - begin)
  }
  return median(times)
}

/** Returns the calls per second of `workers` workers, which share `calls` calls. */
export async function rateOf(workers: number, calls: number, call: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let n = next++; n < calls; n = next++) await call(n)
    }),
  )
  return (calls * 1_000) / (performance.now() - begin)
}

export const ratio = ({ ours, theirs, better }: Figure) => (better === 'larger' ? ours / theirs : theirs / ours)

/** Three significant digits; from 100 on, a whole number. */
export function format(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toPrecision(3)
}

const verdict = (figure: Figure) =>
  figure.target === null ? '' : ratio(figure) >= figure.target ? 'ok' : 'below target'

/** The lines of a table: header, rule and rows. Numbers are right-aligned. */
export function table(header: string[], rows: string[][], isNumber: (column: number) => boolean): string[] {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]!.length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd()
  return [line(header), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)]
}

/** A note below a table, wrapped after at most 108 characters. */
export const note = (text: string) => `- ${text.replace(/(?=.{109})(.{1,108}) /g, '$1\n  ')}`

export function formatReport({ title, figures, notes }: Report): string {
  const header = ['', 'ours', 'theirs', 'unit', 'ratio', 'target', '', 'against']
  const rows = figures.map((figure) => [
    figure.label,
    format(figure.ours),
    format(figure.theirs),
    figure.unit,
    `${ratio(figure).toFixed(2)}×`,
    figure.target === null ? '' : `≥ ${figure.target}×`,
    verdict(figure),
    figure.against,
  ])
  return [
    `\n## ${title}\n`,
    ...table(header, rows, (column) => [1, 2, 4, 5].includes(column)),
    '',
    ...notes.map(note),
  ].join('\n')
}
