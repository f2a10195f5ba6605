// The cost of a verb against one quantity: measured at several sizes in interleaved rounds, and printed relative to the
// smallest size.

import { format, interleaved, median, medianTime, type Progress } from '../figures.ts'

/** Costs at sizes in ascending order. `reason` says why the cost grows, or is null if that is unknown. */
export type Series = {
  verb: string
  /** The quantity that grows, for example "turns". */
  quantity: string
  unit: 'ms' | 'µs'
  costs: { size: number; rounds: number[] }[]
  reason: string | null
}

/** A cost counts as flat while the largest size costs at most this many times the smallest. */
export const FLAT = 1.5

const ROUNDS = 5
/** Number of calls in a round. */
const CALLS = 15

/** Measures the verb at each size, after one round of warm-up. `call` also receives the number of the call, from 0. */
export async function measureSeries(
  { verb, quantity, reason = null }: Pick<Series, 'verb' | 'quantity'> & { reason?: string | null },
  sizes: readonly number[],
  call: (size: number, n: number) => Promise<unknown>,
  progress: Progress,
): Promise<Series> {
  const contestants: Record<string, () => Promise<number>> = {}
  for (const size of sizes) contestants[String(size)] = () => medianTime(CALLS, (n) => call(size, n))
  for (const warmUp of Object.values(contestants)) await warmUp()
  const rounds = await interleaved(ROUNDS, contestants, (message) => progress(`${verb}: ${message} ms`))
  return {
    ...{ verb, quantity, reason, unit: 'ms' },
    costs: sizes.map((size) => ({ size, rounds: rounds[String(size)]! })),
  }
}

/** For each size, the median and the range of the ratios to the smallest size, round by round. */
export function relativeCosts({ costs }: Series): { size: number; ratio: number; least: number; most: number }[] {
  const smallest = costs[0]!.rounds
  return costs.map(({ size, rounds }) => {
    const ratios = rounds.map((cost, round) => cost / smallest[round]!)
    return { size, ratio: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) }
  })
}

/** The rows of the table: one for each size, with the verdict on the last. */
export function rowsOf(series: Series): string[][] {
  const last = series.costs.length - 1
  return relativeCosts(series).map(({ size, ratio, least, most }, at) => [
    at === 0 ? series.verb : '',
    `${size.toLocaleString('en-US')} ${series.quantity}`,
    `${format(median(series.costs[at]!.rounds))} ${series.unit}`,
    at === 0 ? '' : `${ratio.toFixed(2)}×`,
    at === 0 ? '' : `${least.toFixed(2)} to ${most.toFixed(2)}`,
    at < last ? '' : ratio <= FLAT ? 'flat' : `grows: ${series.reason ?? 'the reason is not known'}`,
  ])
}
