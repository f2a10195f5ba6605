// Who may see what. A view is a participant's windows over the conversation, less the turns that are not meant for them.
// The same rule stands in SQL in store/sql/visible.ts; a property test holds the two equal.

/** On whose behalf something is asked: decided by the transport, carried by every domain function. */
export type Viewer = { tenant: string; actor: string }

export type View = {
  /** null for somebody who never was in the conversation: they see all of it that has no audience. */
  actor: string | null
  /** Seqs at which the view opens, closes, opens again …, ascending. */
  windows: readonly number[]
  /** Whether any turn with an audience was ever meant for the actor. */
  addressed: boolean
}

/** The view of somebody who is no participant. */
export const OPEN_VIEW: View = { actor: null, windows: [1], addressed: false }

/** What of a turn decides who sees it. */
export type Placed = { seq: number; rootSeq: number; audience: readonly string[] | null }

/** Whether the windows are open at that seq: an odd number of boundaries lies at or before it. */
export function isOpenAt(windows: readonly number[], seq: number): boolean {
  let open = false
  for (const boundary of windows) {
    if (boundary > seq) break
    open = !open
  }
  return open
}

/** Whether the view contains that version of a turn: it and its place lie in a window, and it is meant for them. */
export function sees(view: View, turn: Placed): boolean {
  return (
    isOpenAt(view.windows, turn.seq)
    && (turn.rootSeq === turn.seq || isOpenAt(view.windows, turn.rootSeq))
    && (turn.audience === null || (view.actor !== null && turn.audience.includes(view.actor)))
  )
}

/** The places a summary covers, and the greatest seq of the versions it was made of. */
type Spanned = { fromSeq: number; toSeq: number; newestSeq: number }

/**
 * Whether any second stretch between boundaries, from that after `first` on (-1: the beginning), overlaps [from, to].
 */
function overlaps({ windows }: Pick<View, 'windows'>, first: -1 | 0, from: number, to: number): boolean {
  for (let i: number = first; i < windows.length; i += 2) {
    const begin = Math.max(from, windows[i] ?? 0)
    const end = Math.min(to, (windows[i + 1] ?? Infinity) - 1)
    if (begin <= end) return true
  }
  return false
}

/** Whether the windows are open over all that a summary was made of. */
export const spans = (view: Pick<View, 'windows'>, { fromSeq, newestSeq }: Spanned): boolean =>
  !overlaps(view, -1, fromSeq, newestSeq)

/** Whether they are closed over all the places that it covers. */
export const seesNothingOf = (view: Pick<View, 'windows'>, { fromSeq, toSeq }: Spanned): boolean =>
  !overlaps(view, 0, fromSeq, toSeq)

/** Whether the view is everything without an audience, so that the conversation's own counters hold for it. */
export function seesAllPublic(view: View): boolean {
  return view.windows.length === 1 && view.windows[0]! <= 1
}

/** Views of one conversation with the same class show the same turns. */
export function viewClass(view: View): string {
  return `${view.windows.join()}${view.addressed ? `|${view.actor}` : ''}`
}

/**
 * The viewer that `as` asks for; without it, the viewer. While nobody authenticates, everybody may be anybody of
 * their tenant.
 */
export function actAs(viewer: Viewer, as: string | null | undefined): Viewer {
  return as == null || as === viewer.actor ? viewer : { ...viewer, actor: as }
}
