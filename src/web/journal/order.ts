// Checks the numbers of the entries that arrive: whether one is missing, repeated or out of order. The server does not
// deliver entries outside of the participant's view, nor those about an object that no longer exists, so a missing
// number is no loss in itself; a second reading of the same entries shows whether it is one.

/** Numbers from `from` to `to`, both included. */
export type Range = { from: number; to: number }

export type Order = {
  /** The number after which the entries were requested. */
  after: number
  /** The newest number that arrived; `after` before the first. */
  last: number
  /** Number of entries that arrived, each counted once. */
  count: number
  /** Numbers that did not arrive, although later ones did; the newest ranges. */
  absent: readonly Range[]
  absentCount: number
  /** Numbers of the entries that the server said it skipped; the newest ranges. */
  skipped: readonly Range[]
  /** Numbers that arrived although they, or later ones, had arrived; the newest ones. */
  unordered: readonly number[]
}

/** Maximum number of ranges, and of numbers out of order, that are kept. */
const MAX_KEPT = 50

export const startOrder = (after: number): Order => ({
  after,
  last: after,
  count: 0,
  absent: [],
  absentCount: 0,
  skipped: [],
  unordered: [],
})

/** Returns the order after the entry `seq` has arrived. */
export function arrived(order: Order, seq: number): Order {
  if (seq <= order.last) return { ...order, unordered: [...order.unordered, seq].slice(-MAX_KEPT) }
  const next = { ...order, last: seq, count: order.count + 1 }
  if (seq === order.last + 1) return next
  const range = { from: order.last + 1, to: seq - 1 }
  return {
    ...next,
    absent: [...order.absent, range].slice(-MAX_KEPT),
    absentCount: order.absentCount + range.to - range.from + 1,
  }
}

/** Returns the order after the server has said that it skipped the entries up to `seq`. */
export const skipped = (order: Order, seq: number): Order =>
  seq > order.last
    ? { ...order, last: seq, skipped: [...order.skipped, { from: order.last + 1, to: seq }].slice(-MAX_KEPT) }
    : order

/**
 * Returns the ranges of consecutive numbers. @param seqs ascending
 * @internal
 */
export function rangesOf(seqs: readonly number[]): Range[] {
  const ranges: Range[] = []
  for (const seq of seqs) {
    const newest = ranges.at(-1)
    if (newest && seq === newest.to + 1) newest.to = seq
    else ranges.push({ from: seq, to: seq })
  }
  return ranges
}

/** Maximum number of ranges in a text. */
const MAX_WRITTEN = 5

/**
 * Returns ranges as text, for example `2–4, 7`.
 * @internal
 */
export function rangeText(ranges: readonly Range[]): string {
  const texts = ranges.slice(0, MAX_WRITTEN).map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`))
  return `${texts.join(', ')}${ranges.length > MAX_WRITTEN ? ` and ${ranges.length - MAX_WRITTEN} more ranges` : ''}`
}

const entries = (count: number) => (count === 1 ? 'entry' : 'entries')
const nounOf = (count: number) => (count === 1 ? 'Entry' : 'Entries')

/** Why numbers may be absent although nothing was lost. */
const REASONS =
  'Entries outside of your view (such as private turns of others), or about something deleted since, leave such gaps.'

/** Returns in words which entries the server skipped; nothing for none. */
const skippedText = (ranges: readonly Range[]): string =>
  ranges.length === 0 ? '' : `The server skipped ${rangeText(ranges)}, because the page was too far behind.`

export type Verdict = { isGood: boolean; text: string }

/** Returns in words whether the entries arrived gapless and in order. */
export function verdictOf(order: Order): Verdict {
  const { after, last, count, absent, absentCount, unordered } = order
  if (unordered.length > 0)
    return { isGood: false, text: `Out of order or repeated: ${rangeText(rangesOf(unordered))}.` }
  const isGood = order.skipped.length === 0
  const withSkipped = (text: string) => ({ isGood, text: `${text} ${skippedText(order.skipped)}`.trimEnd() })
  if (count === 0) return withSkipped(`No entry after ${after} has arrived yet.`)
  const range = rangeText([{ from: after + 1, to: last }])
  if (absentCount === 0 && isGood) return withSkipped(`${nounOf(count)} ${range}: in order, each once, without a gap.`)
  const arrivals = `Entries ${range}: ${count} arrived, in order, each once.`
  if (absentCount === 0) return withSkipped(arrivals)
  const absentText = `${absentCount} of the numbers are absent (${rangeText(absent)}). ${REASONS}`
  return withSkipped(`${arrivals} ${absentText}`)
}

/** What the page knows when it has caught up after a lost connection. */
type Resumption = {
  /** The newest entry before the loss. */
  lost: number
  /** The newest entry of the conversation when the connection was restored; null if it could not be read. */
  head: number | null
  /** The entries above `lost` and up to `head` that have arrived. */
  seqs: readonly number[]
  /** The entries that the server skipped. */
  skipped: readonly Range[]
}

/** Returns in words what a resumption delivered. */
export function resumptionText({ lost, head, seqs, skipped: ranges }: Resumption): string {
  const start = `Resumed after ${lost}.`
  if (head !== null && head <= lost) return `${start} No entry was written meanwhile, so nothing is missing.`
  const came =
    seqs.length === 0 ? 'No entry arrived' : `${nounOf(seqs.length)} ${rangeText(rangesOf(seqs))} arrived meanwhile`
  const told = `${came}. ${skippedText(ranges)}`.trimEnd()
  if (head === null) return `${start} ${told} The newest entry could not be read, so more may be missing.`
  const absent = head - lost - seqs.length - ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  if (absent > 0) return `${start} ${told} ${absent} ${absent === 1 ? 'number is' : 'numbers are'} absent. ${REASONS}`
  return ranges.length === 0 ? `${start} ${came}; nothing is missing.` : `${start} ${told}`
}

/** Returns in words how a second reading of the same entries compares with the first. Both are ascending. */
export function comparisonText(first: readonly number[], second: readonly number[]): Verdict {
  const [firstSet, secondSet] = [new Set(first), new Set(second)]
  const lost = second.filter((seq) => !firstSet.has(seq))
  const gone = first.filter((seq) => !secondSet.has(seq))
  if (lost.length > 0) return { isGood: false, text: `A second reading also has ${rangeText(rangesOf(lost))}.` }
  if (gone.length > 0) {
    return {
      isGood: true,
      text: `A second reading lacks ${rangeText(rangesOf(gone))}: deleted since, or no longer in your view.`,
    }
  }
  const count = `${first.length} ${entries(first.length)} (${first[0]} to ${first.at(-1)})`
  return { isGood: true, text: `A second reading delivered the same ${count}: nothing was lost.` }
}
