// Joins a window of old turns with the live end of a conversation, keeps its turns current, and finds turns in it. The
// functions are pure.

import type { Turn } from '../../client/index.ts'

/** Whether the old turns reach the live end, so that no turn is between them. */
export const reaches = (past: readonly Turn[], [first]: readonly Turn[]): boolean =>
  first !== undefined && past.length > 0 && past.at(-1)!.position >= first.position

/** Returns the old turns, followed by the live end if they reach it. Each turn is returned once, in its live state. */
export function joined(past: readonly Turn[], live: readonly Turn[]): readonly Turn[] {
  if (!reaches(past, live)) return past
  return [...past.filter(({ position }) => position < live[0]!.position), ...live]
}

/** Returns the turns, each in the state that an event contained if that is not older. */
export function changed(turns: readonly Turn[], changes: ReadonlyMap<number, Turn>): readonly Turn[] {
  if (!turns.some(({ position }) => changes.has(position))) return turns
  return turns.map((turn) => {
    const change = changes.get(turn.position)
    // An event repeats the `seq` of the turn if the turn is only pinned, for example.
    return change && change.seq >= turn.seq ? change : turn
  })
}

/** Returns the index of the first turn at the position or after it; the number of turns if there is none. */
function indexFrom(turns: readonly Turn[], position: number): number {
  let [from, to] = [0, turns.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (turns[middle]!.position < position) from = middle + 1
    else to = middle
  }
  return from
}

/**
 * Returns the index of the turn with the position; null if it is not among the turns, which are ordered by position.
 */
export function indexAt(turns: readonly Turn[], position: number): number | null {
  const index = indexFrom(turns, position)
  return turns[index]?.position === position ? index : null
}

/** Returns the index of the turn with the position, or of the nearest one; null without turns. */
export function nearestTo(turns: readonly Turn[], position: number): number | null {
  const index = indexFrom(turns, position)
  const [before, after] = [turns[index - 1], turns[index]]
  if (!before || !after) return turns.length === 0 ? null : Math.min(index, turns.length - 1)
  return position - before.position < after.position - position ? index - 1 : index
}
