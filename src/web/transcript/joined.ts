// Joins a window of old turns with the live end of a conversation, and finds turns in it. The functions are pure.

import type { Turn } from '../../client/index.ts'

/** Whether the old turns reach the live end, so that no turn is between them. */
export const reaches = (past: readonly Turn[], [first]: readonly Turn[]): boolean =>
  first !== undefined && past.length > 0 && past.at(-1)!.position >= first.position

/** Returns the old turns, followed by the live end if they reach it. Each turn is returned once, in its live state. */
export function joined(past: readonly Turn[], live: readonly Turn[]): readonly Turn[] {
  if (!reaches(past, live)) return past
  return [...past.filter(({ position }) => position < live[0]!.position), ...live]
}

/** Returns the index of the turn with the position; null if it is not among the turns, which are ordered by position. */
export function indexAt(turns: readonly Turn[], position: number): number | null {
  let [from, to] = [0, turns.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (turns[middle]!.position < position) from = middle + 1
    else to = middle
  }
  return turns[from]?.position === position ? from : null
}
