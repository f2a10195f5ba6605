// Finds the start of the recent window. The window is trimmed in steps, so that consecutive contexts share a prefix and
// hit the provider's prompt cache. Nothing is stored: of the possible starts, the roundest root seq is taken, which
// stays the same from call to call until it no longer fits. Root seqs are visible anyway, so the start reveals nothing.

/** Minimum part of its space that the window fills after being trimmed in steps. */
export const LEAST = 1 / 3

type WindowRequest = {
  /** Root seqs of the turns, ascending. */
  rootSeqs: readonly number[]
  /** Whether there is no turn before the first of them. */
  complete: boolean
  /** The part of the space that the turns from that index on take; 1 is full. Never smaller for an earlier index. */
  fill(start: number): number
  /** Number of turns to keep while they fit; in steps, up to twice as many minus one. Null for as many as fit. */
  turns: number | null
  /** False starts the window as early as it fits, with at most `turns`. */
  inSteps: boolean
}

/**
 * Roundness of the cut between two root seqs: the exponent of the highest power of two with a multiple in (before,
 * after].
 */
const roundness = (before: number, after: number) => 31 - Math.clz32(before ^ after)

/** Returns the index of the first turn of the window; the number of turns if none fits. */
export function windowStart({ rootSeqs, complete, fill, turns, inSteps }: WindowRequest): number {
  const end = rootSeqs.length
  const most = turns === null ? end : Math.min(end, inSteps ? Math.max(0, 2 * turns - 1) : turns)
  let earliest = end
  while (earliest > end - most && fill(earliest - 1) <= 1) earliest -= 1
  if (!inSteps || (earliest === 0 && complete)) return earliest
  // The latest start that still keeps `turns`, or LEAST of the space.
  let latest = end
  if (turns !== null && end - earliest >= turns) latest = end - turns
  else while (latest > earliest && fill(latest) < LEAST) latest -= 1

  let best = earliest
  for (let start = earliest + 1; start <= latest && start < end; start++) {
    // The turn before index 0 is unknown, and so is the roundness of that cut: any other cut is preferred.
    const isRounder =
      best === 0 || roundness(rootSeqs[start - 1]!, rootSeqs[start]!) > roundness(rootSeqs[best - 1]!, rootSeqs[best]!)
    if (isRounder) best = start
  }
  return best
}
