// Who may see what. A participant's view is its history windows, minus turns limited to other participants. The same rule
// is written in SQL in store/sql/visible.ts; a property test keeps the two equal.

import type { Viewer } from '../store/viewer.ts'

export type { Viewer } from '../store/viewer.ts'

export type View = {
  /** Null for an actor who was never a participant: such an actor sees all turns without an audience. */
  actor: string | null
  /** Journal numbers at which the view opens, closes, opens again …, ascending. */
  windows: readonly number[]
  /** Whether any turn's audience has ever included the actor. */
  addressed: boolean
}

/** The view of an actor who is not a participant. */
export const OPEN_VIEW: View = { actor: null, windows: [1], addressed: false }

/** The fields of a turn that decide who sees it. */
export type Placed = { seq: number; rootSeq: number; audience: readonly string[] | null }

/** Whether the windows are open at `seq`, that is, whether an odd number of boundaries is at or before it. */
export function isOpenAt(windows: readonly number[], seq: number): boolean {
  let open = false
  for (const boundary of windows) {
    if (boundary > seq) break
    open = !open
  }
  return open
}

/** Whether the view contains this version of a turn: its own seq and its root's are in a window, and its audience includes the actor. */
export function sees(view: View, turn: Placed): boolean {
  return (
    isOpenAt(view.windows, turn.seq)
    && (turn.rootSeq === turn.seq || isOpenAt(view.windows, turn.rootSeq))
    && (turn.audience === null || (view.actor !== null && turn.audience.includes(view.actor)))
  )
}

/** The root seqs that a summary covers, and the greatest seq of the versions it was made from. */
type Spanned = { fromSeq: number; toSeq: number; newestSeq: number }

/**
 * Whether [from, to] overlaps any window (`first` 0) or any gap between windows (`first` -1).
 */
function overlaps({ windows }: Pick<View, 'windows'>, first: -1 | 0, from: number, to: number): boolean {
  for (let i: number = first; i < windows.length; i += 2) {
    const begin = Math.max(from, windows[i] ?? 0)
    const end = Math.min(to, (windows[i + 1] ?? Infinity) - 1)
    if (begin <= end) return true
  }
  return false
}

/** Whether the windows contain everything that the summary was made from. */
export const spans = (view: Pick<View, 'windows'>, { fromSeq, newestSeq }: Spanned): boolean =>
  !overlaps(view, -1, fromSeq, newestSeq)

/** Whether the windows contain none of the turns that the summary covers. */
export const seesNothingOf = (view: Pick<View, 'windows'>, { fromSeq, toSeq }: Spanned): boolean =>
  !overlaps(view, 0, fromSeq, toSeq)

/** Whether the view contains every turn without an audience, so that the conversation's counters apply to it. */
export function seesAllPublic(view: View): boolean {
  return view.windows.length === 1 && view.windows[0]! <= 1
}

/** A key of the view: views of one conversation with equal keys contain the same turns. */
export function viewClass(view: View): string {
  return `${view.windows.join()}${view.addressed ? `|${view.actor}` : ''}`
}

/**
 * The viewer that `as` names, or `viewer` if it is absent. Without authentication, any caller may act as any actor of its
 * tenant.
 */
export function actAs(viewer: Viewer, as: string | null | undefined): Viewer {
  return as == null || as === viewer.actor ? viewer : { ...viewer, actor: as }
}
