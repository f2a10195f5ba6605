// Where the recent window begins. It is trimmed in steps, so that what a model has read stays the beginning of what it
// reads next, and its provider's cache holds. Nothing is stored for it: of the places where the window may begin, the
// roundest is taken, which is the same one from call to call until it no longer fits. Places are entries of the
// journal, so that where a window begins shows no more than the numbers of its turns do.

/** How much of its space the window keeps, at least, when it is trimmed in steps. */
export const LEAST = 1 / 3

type WindowRequest = {
  /** Places of the turns in the transcript, ascending. */
  places: readonly number[]
  /** Whether there is nothing before the first of them. */
  complete: boolean
  /** How full the space is with the turns from that index on: 1 is all it has. Never smaller for an earlier one. */
  fill(start: number): number
  /** Turns to keep, while they fit; null for as many as fit. Fewer than twice as many stay. */
  turns: number | null
  /** false: always begins as early as fits, and never with more than `turns`. */
  inSteps: boolean
}

/** How round the cut between two places is: the highest power of two with a multiple above `before`, up to `place`. */
const roundness = (before: number, place: number) => 31 - Math.clz32(before ^ place)

/** Index of the first turn of the window; the number of turns where not one fits. */
export function windowStart({ places, complete, fill, turns, inSteps }: WindowRequest): number {
  const end = places.length
  const most = turns === null ? end : Math.min(end, inSteps ? Math.max(0, 2 * turns - 1) : turns)
  let earliest = end
  while (earliest > end - most && fill(earliest - 1) <= 1) earliest -= 1
  if (!inSteps || (earliest === 0 && complete)) return earliest
  // The latest start that keeps enough.
  let latest = end
  if (turns !== null && end - earliest >= turns) latest = end - turns
  else while (latest > earliest && fill(latest) < LEAST) latest -= 1

  let best = earliest
  for (let start = earliest + 1; start <= latest && start < end; start++) {
    // What lies before the first turn known is not known: there is no telling how round that cut is.
    const isRounder =
      best === 0 || roundness(places[start - 1]!, places[start]!) > roundness(places[best - 1]!, places[best]!)
    if (isRounder) best = start
  }
  return best
}
