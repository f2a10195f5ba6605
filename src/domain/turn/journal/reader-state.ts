// The state of one reader of a conversation: the entries and text it has received, and its view. No I/O: follow.ts
// reads and writes. The state is mutated, so that an event allocates no memory per reader. Invariants: no entry is
// delivered twice; the deltas of a turn that was open when the reader received it are contiguous and do not overlap.

import {
  isTextVisible,
  isVisible,
  type ConversationEvent,
  type EventType,
  type Gap,
  type JournalEvent,
  type TurnDelta,
} from './event.ts'
import type { View } from '../../kernel/view.ts'
import type { OpenTurn } from './feed-state.ts'

/** Maximum number of entries that a live reader may be behind the feed's head. Beyond it, it gets a Gap instead. */
export const MAX_ENTRIES_BEHIND = 10_000

export type ReaderState = {
  readonly conversationId: string
  /** Seq of the last entry processed, whether or not the reader could see it. */
  cursor: number
  view: View
  /** The types of events that the reader receives besides ConversationDeleted and Gap; null for all. */
  readonly types: ReadonlySet<EventType> | null
  /** Whether ConversationDeleted was delivered. No event may follow it. */
  isOver: boolean
  /** Whether the reader has ever followed the feed. Until then, entries must not be skipped. */
  isLive: boolean
  /** UTF-16 end of the received text, by id of each open turn. Empty while the reader follows the feed. */
  readonly received: Map<string, number>
}

export const startReaderState = (
  conversationId: string,
  cursor: number,
  view: View,
  types: ReaderState['types'] = null,
): ReaderState => ({ conversationId, cursor, view, types, isOver: false, isLive: false, received: new Map() })

/** Moves the cursor to an event of the feed. Returns false for an entry that is not after the cursor. */
export function moveTo(state: ReaderState, event: ConversationEvent): boolean {
  if (event.seq === null) return true
  if (event.seq <= state.cursor) return false
  state.cursor = event.seq
  return true
}

/**
 * Whether the reader receives the event: it has one of the reader's types, it is in view, and ConversationDeleted was
 * not delivered before. Sets `isOver` for ConversationDeleted.
 */
export function accept(state: ReaderState, event: ConversationEvent): boolean {
  if (state.isOver) return false
  state.isOver = event.type === 'ConversationDeleted'
  return isSelected(state, event) && isVisible(state.view, event)
}

/** A reader needs ConversationDeleted and Gap to stay correct, so `types` never excludes them. */
const isSelected = ({ types }: ReaderState, { type }: ConversationEvent): boolean =>
  types === null || type === 'ConversationDeleted' || type === 'Gap' || types.has(type)

/**
 * Records the end of the text of each open turn in view, for a reader that leaves the feed.
 * @param skipped the event that the reader has not received, or null; if it is a delta, `open` contains its text
 */
export function leaveFeed(state: ReaderState, open: Iterable<OpenTurn>, skipped: ConversationEvent | null): void {
  for (const { turn, text } of open) if (isTextVisible(state.view, turn)) state.received.set(turn.id, text.length)
  if (skipped?.type === 'TurnDelta' && isTextVisible(state.view, skipped.of)) {
    state.received.set(skipped.turnId, skipped.start)
  }
}

/** Changes the view of a reader that follows the feed. Returns the text of open turns that were not in view before. */
export function changeView(state: ReaderState, view: View, open: Iterable<OpenTurn>): TurnDelta[] {
  const before = state.view
  state.view = view
  const deltas: TurnDelta[] = []
  for (const each of open) if (!isTextVisible(before, each.turn)) pushText(deltas, state, each, 0)
  return deltas
}

/**
 * Records an entry that was read from the journal, not received from the feed. If the entry closes a turn in
 * `received`, returns the rest of the turn's text, which must be delivered before the entry; otherwise null.
 */
export function replay(state: ReaderState, event: JournalEvent): TurnDelta | null {
  if (event.type === 'TurnOpened' && event.turn.status === 'STREAMING') state.received.set(event.turn.id, 0)
  if (event.type === 'TurnErased') state.received.delete(event.turn.id)
  if (event.type !== 'TurnCommitted' && event.type !== 'TurnAborted') return null
  const { turn } = event
  const start = state.received.get(turn.id)
  state.received.delete(turn.id)
  return start === undefined ? null : textFrom(state, { turn, text: turn.text }, start)
}

/**
 * Sets the view. Returns the text of open turns in view that the reader has not received. The caller records the
 * delivered text in `received`.
 */
export function missingTexts(state: ReaderState, view: View, open: Iterable<OpenTurn>): TurnDelta[] {
  state.view = view
  const deltas: TurnDelta[] = []
  for (const each of open) {
    if (isTextVisible(view, each.turn)) pushText(deltas, state, each, state.received.get(each.turn.id) ?? 0)
  }
  return deltas
}

/** Marks the reader as following the feed: it has reached the feed's head and received all texts of open turns. */
export function joinFeed(state: ReaderState, view: View): void {
  state.view = view
  state.received.clear()
  state.isLive = true
}

/** Whether a live reader is too far behind to receive every entry up to `head`. */
export const isTooFarBehind = (state: ReaderState, head: number): boolean =>
  state.isLive && head - state.cursor > MAX_ENTRIES_BEHIND

/** Skips all entries up to `head`, and returns the Gap to deliver. */
export function skipTo(state: ReaderState, head: number): Gap {
  state.cursor = head
  state.received.clear()
  const { conversationId } = state
  return { type: 'Gap', conversationId, seq: null, at: new Date(), resumeAfterSeq: head }
}

function pushText(deltas: TurnDelta[], state: ReaderState, open: OpenTurn, start: number): void {
  const delta = textFrom(state, open, start)
  if (delta) deltas.push(delta)
}

/** Returns the text of an open turn from `start`; null if there is none. */
function textFrom({ conversationId }: ReaderState, { turn, text }: OpenTurn, start: number): TurnDelta | null {
  if (start >= text.length) return null
  return {
    type: 'TurnDelta',
    conversationId,
    seq: null,
    at: new Date(),
    turnId: turn.id,
    start,
    end: text.length,
    text: text.slice(start),
    of: turn,
  }
}
