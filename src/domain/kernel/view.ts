// Decides which turns, summaries and events a view contains. A participant's view contains the turns in its history
// windows, except turns limited to other participants. store/sql/kernel/visible.ts implements the same rule in SQL; a property
// test compares the two.

import type { ConversationVisibility } from '../../store/generated/enums.ts'
import type { Viewer as Actor } from '../../store/db/scope.ts'
import type { Principal } from './rights/principal.ts'

/**
 * The actor in whose view a read is made. `principal` is the authenticated principal, which is this actor or may act as
 * it. It is undefined without authentication and in library calls; the viewer then has every right.
 */
export type Viewer = Actor & { readonly principal?: Principal }

export type View = {
  /** Null for an actor who was never a participant: it sees all turns without an audience of an OPEN conversation. */
  actor: string | null
  /** Boundaries of the history windows, ascending: the seqs at which a window opens, closes, opens again, and so on. */
  windows: readonly number[]
  /** Whether any turn's audience has ever included the actor. */
  addressed: boolean
}

/** The view of an OPEN conversation by an actor who was never a participant. @internal */
export const OPEN_VIEW: View = { actor: null, windows: [1], addressed: false }

/**
 * The view of a MEMBERS conversation by an actor who was never a participant: not even the conversation is visible.
 * @internal
 */
export const NO_VIEW: View = { actor: null, windows: [], addressed: false }

/** Returns the actor's view; `participant` is null or undefined for an actor who was never a participant. */
export const viewIn = <V extends View>(
  visibility: ConversationVisibility,
  participant: V | null | undefined,
): V | View => participant ?? (visibility === 'OPEN' ? OPEN_VIEW : NO_VIEW)

/** Whether the viewer sees the conversation. The view of a present or former participant always has a window. */
export const seesConversation = ({ windows }: Pick<View, 'windows'>): boolean => windows.length > 0

/** The fields of a turn or fact that determine its visibility. A null audience includes every participant. */
export type VisibilityFields = { seq: number; position: number; audience: readonly string[] | null }

/** Whether the windows are open at `seq`, that is, whether an odd number of boundaries is at or before it. */
export function isOpenAt(windows: readonly number[], seq: number): boolean {
  let open = false
  for (const boundary of windows) {
    if (boundary > seq) break
    open = !open
  }
  return open
}

/** Whether the audience includes the actor of the view. */
export const isInAudience = ({ actor }: Pick<View, 'actor'>, audience: readonly string[] | null): boolean =>
  audience === null || (actor !== null && audience.includes(actor))

/** Whether all readers are in the audience. For both arguments, null means every participant. */
export const admitsAll = (audience: readonly string[] | null, readers: readonly string[] | null): boolean =>
  audience === null || (readers !== null && readers.every((actor) => audience.includes(actor)))

/**
 * Whether the view contains this version of a turn: its seq and position are in windows, and its audience, if any,
 * includes the actor.
 */
export function sees(view: View, turn: VisibilityFields): boolean {
  return (
    isOpenAt(view.windows, turn.seq)
    && (turn.position === turn.seq || isOpenAt(view.windows, turn.position))
    && isInAudience(view, turn.audience)
  )
}

/** The first and last position that a summary covers, and the greatest seq of the turn versions it was made from. */
type SummaryRange = { fromPosition: number; toPosition: number; newestSeq: number }

/**
 * Whether any seq from `from` to `to`, both included, is in a window (`first` 0) or outside all windows (`first` -1).
 * @param first index in `windows` of the seq at which the first window or the first gap begins; -1 for seq 0
 */
function overlaps({ windows }: Pick<View, 'windows'>, first: -1 | 0, from: number, to: number): boolean {
  for (let i: number = first; i < windows.length; i += 2) {
    const begin = Math.max(from, windows[i] ?? 0)
    const end = Math.min(to, (windows[i + 1] ?? Infinity) - 1)
    if (begin <= end) return true
  }
  return false
}

/** Whether the windows contain every version that the summary was made from. */
export const seesAllOf = (view: Pick<View, 'windows'>, { fromPosition, newestSeq }: SummaryRange): boolean =>
  !overlaps(view, -1, fromPosition, newestSeq)

/** Whether the windows contain none of the turns that the summary covers. */
export const seesNoneOf = (view: Pick<View, 'windows'>, { fromPosition, toPosition }: SummaryRange): boolean =>
  !overlaps(view, 0, fromPosition, toPosition)

/** Whether the view contains every turn without an audience; the conversation's counters count these turns. */
export function seesAllPublic(view: View): boolean {
  return view.windows.length === 1 && view.windows[0]! <= 1
}

/** Returns a cache key: views of one conversation with equal keys contain the same turns. */
export function viewClass(view: View): string {
  return `${view.windows.join()}${view.addressed ? `|${view.actor}` : ''}`
}

/**
 * Returns the viewer with `as` as its actor; null and undefined keep the actor. authorize.ts checks that the credential
 * may act as it. Without authentication, any client may act as any actor of its tenant.
 */
export function actAs(viewer: Viewer, as: string | null | undefined): Viewer {
  return as == null || as === viewer.actor ? viewer : { ...viewer, actor: as }
}
