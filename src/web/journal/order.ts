// Checks the numbers of the entries that arrive: whether one is missing, repeated or out of order. The server does not
// deliver entries outside of the participant's view, nor those about an object that no longer exists, so a missing number
// is no loss in itself; a second reading of the same entries shows whether it is one.

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
export const skipped = (order: Order, seq: number): Order => (seq > order.last ? { ...order, last: seq } : order)

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

/** Why numbers may be absent although nothing was lost. */
const REASONS =
  'Entries outside of your view (such as private turns of others), or about something deleted since, leave such gaps.'

export type Verdict = { isGood: boolean; text: string }

/** Returns in words whether the entries arrived gapless and in order. */
export function verdictOf({ after, last, count, absent, absentCount, unordered }: Order): Verdict {
  if (unordered.length > 0)
    return { isGood: false, text: `Out of order or repeated: ${rangeText(rangesOf(unordered))}.` }
  if (count === 0) return { isGood: true, text: `No entry after ${after} has arrived yet.` }
  const range = rangeText([{ from: after + 1, to: last }])
  if (absentCount === 0)
    return {
      isGood: true,
      text: `${entries(count) === 'entry' ? 'Entry' : 'Entries'} ${range}: in order, each once, without a gap.`,
    }
  return {
    isGood: true,
    text:
      `Entries ${range}: ${count} arrived, in order, each once. ${absentCount} of the numbers are absent `
      + `(${rangeText(absent)}). ${REASONS}`,
  }
}

/** What the page knows when it has caught up after a lost connection. */
type Resumption = {
  /** The newest entry before the loss. */
  lost: number
  /** The newest entry of the conversation when the connection was restored. */
  head: number
  /** The entries above `lost` and up to `head` that have arrived. */
  seqs: readonly number[]
}

/** Returns in words what a resumption delivered. */
export function resumptionText({ lost, head, seqs }: Resumption): string {
  if (head <= lost) return `Resumed after ${lost}. No entry was written meanwhile, so nothing is missing.`
  const absent = head - lost - seqs.length
  const came = `${entries(seqs.length) === 'entry' ? 'Entry' : 'Entries'} ${rangeText(rangesOf(seqs))}`
  if (absent === 0) return `Resumed after ${lost}. ${came} arrived meanwhile; nothing is missing.`
  const unseen = `${absent} ${absent === 1 ? 'number is' : 'numbers are'} absent. ${REASONS}`
  return seqs.length === 0
    ? `Resumed after ${lost}. No entry arrived; ${unseen}`
    : `Resumed after ${lost}. ${came} arrived meanwhile; ${unseen}`
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
