// Finds the start of the recent window. The window is trimmed in steps, so that consecutive contexts share a prefix and
// hit the provider's prompt cache. The start is not stored. Each call picks the possible start with the greatest
// `roundness`, which usually stays the same from one call to the next. Root seqs are visible anyway, so the start
// reveals nothing about hidden turns.

/** Minimum fraction of its space that the window fills after it is trimmed in steps, if there are enough turns. */
export const MIN_FILL = 1 / 3

type WindowRequest = {
  /** Root seqs of the turns, ascending. */
  rootSeqs: readonly number[]
  /** True if no turn precedes the first one in `rootSeqs`. */
  complete: boolean
  /**
   * Returns the fraction of the space taken by a window that starts at that index; above 1, the window does not fit. An
   * earlier start never takes a smaller fraction.
   */
  fill(start: number): number
  /**
   * Number of turns to include if they fit; null for as many as fit. A window that is trimmed in steps has at most
   * `2 * turns - 1` turns.
   */
  turns: number | null
  /** If false, the window contains as many turns as fit, at most `turns`. */
  inSteps: boolean
}

/** Roundness of the cut between two root seqs: the largest k for which (before, after] contains a multiple of 2^k. */
const roundness = (before: number, after: number) => 31 - Math.clz32(before ^ after)

/** Returns the index of the first turn of the window, or `rootSeqs.length` if no turn fits. */
export function windowStart({ rootSeqs, complete, fill, turns, inSteps }: WindowRequest): number {
  const end = rootSeqs.length
  const maxTurns = turns === null ? end : Math.min(end, inSteps ? Math.max(0, 2 * turns - 1) : turns)
  let earliest = end
  while (earliest > end - maxTurns && fill(earliest - 1) <= 1) earliest -= 1
  if (!inSteps || (earliest === 0 && complete)) return earliest
  // The latest start that includes `turns` turns or, if `turns` is null or more than fit, fills at least MIN_FILL of
  // the space.
  let latest = end
  if (turns !== null && end - earliest >= turns) latest = end - turns
  else while (latest > earliest && fill(latest) < MIN_FILL) latest -= 1

  let best = earliest
  for (let start = earliest + 1; start <= latest && start < end; start++) {
    // The turn before index 0 is unknown, and so is the roundness of that cut: any other cut is preferred.
    const isRounder =
      best === 0 || roundness(rootSeqs[start - 1]!, rootSeqs[start]!) > roundness(rootSeqs[best - 1]!, rootSeqs[best]!)
    if (isRounder) best = start
  }
  return best
}
