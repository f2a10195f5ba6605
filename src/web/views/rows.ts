// Two views of one conversation, side by side. The function is pure.

import type { Turn } from '../../client/index.ts'

/**
 * A row of a view: a turn that the other viewer sees, or one of one's own turns that they do not see. `isExtra`:
 * whether only the other viewer sees the turn.
 */
export type ViewRow = { kind: 'turn'; turn: Turn; isExtra: boolean } | { kind: 'hidden'; turn: Turn }

/**
 * Returns the rows of the other viewer's view, by position. Both views are followed separately, so a turn that only one
 * of them has may still arrive in the other one: rows say nothing about turns after `through` that are newer than all
 * turns of both.
 * @param theirs the turns that they see, from the position `from` on
 * @param own the turns that the person sees, from any position on
 * @param through position up to which both views are complete; null to compare nothing
 */
export function rowsOf(
  theirs: readonly Turn[],
  own: readonly Turn[],
  { from, through }: { from: number; through: number | null },
): ViewRow[] {
  const seen = new Set(theirs.map(({ position }) => position))
  const mine = new Set(own.map(({ position }) => position))
  const first = own[0]?.position ?? Infinity
  const common = own.findLast(({ position }) => seen.has(position))?.position ?? -1
  const isCompared = ({ position }: Turn) => through !== null && position <= Math.max(through, common)
  const shown = theirs.map((turn): ViewRow => ({
    kind: 'turn',
    turn,
    // Older turns than the first one that is loaded may be in one's own view.
    isExtra: turn.position >= first && !mine.has(turn.position) && isCompared(turn),
  }))
  const hidden = own
    .filter((turn) => turn.position >= from && !seen.has(turn.position) && isCompared(turn))
    .map((turn): ViewRow => ({ kind: 'hidden', turn }))
  return [...shown, ...hidden].toSorted((a, b) => a.turn.position - b.turn.position)
}
