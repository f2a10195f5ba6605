// Finds the start of the window of recent turns. The window is trimmed in steps, so that consecutive contexts share a
// prefix and hit the provider's prompt cache. The start is not stored: each call chooses the possible start with the
// greatest `roundness`, which usually stays the same from one call to the next. Roundness is computed from positions,
// which viewers see anyway, so the start reveals nothing about hidden turns.

/**
 * Minimum fraction of its space that the window fills after it is trimmed in steps, if there are enough turns.
 * @internal Exported for tests.
 */
export const MIN_FILL = 1 / 3

type WindowRequest = {
  /** Positions of the turns, ascending. */
  positions: readonly number[]
  /** True if no turn precedes the first one in `positions`. */
  complete: boolean
  /**
   * Returns the fraction of the space that a window needs if it starts at that index; above 1, the window does not fit.
   * An earlier start never needs a smaller fraction.
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

/** Roundness of the cut between two positions: the largest k for which (before, after] contains a multiple of 2^k. */
const roundness = (before: number, after: number) => 31 - Math.clz32(before ^ after)

/** Returns the index of the first turn of the window, or `positions.length` if no turn fits. */
export function windowStart({ positions, complete, fill, turns, inSteps }: WindowRequest): number {
  const end = positions.length
  const maxTurns = turns === null ? end : Math.min(end, inSteps ? Math.max(0, 2 * turns - 1) : turns)
  let earliest = end
  while (earliest > end - maxTurns && fill(earliest - 1) <= 1) earliest -= 1
  if (!inSteps || (earliest === 0 && complete)) return earliest
  // `latest` is the latest start that includes `turns` turns or, if `turns` is null or more than fit, that fills at
  // least MIN_FILL of the space.
  let latest = end
  if (turns !== null && end - earliest >= turns) latest = end - turns
  else while (latest > earliest && fill(latest) < MIN_FILL) latest -= 1

  let best = earliest
  for (let start = earliest + 1; start <= latest && start < end; start++) {
    // The turn before index 0 is unknown, and so is the roundness of a cut there. Any other cut is preferred.
    const isRounder =
      best === 0
      || roundness(positions[start - 1]!, positions[start]!) > roundness(positions[best - 1]!, positions[best]!)
    if (isRounder) best = start
  }
  return best
}
