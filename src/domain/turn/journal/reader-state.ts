// The state of one reader of a conversation: the entries and text it has received, and its view. No I/O: follow.ts
// reads and writes. The state is mutated, so that an event allocates no memory per reader. Invariants: no entry is
// delivered twice; the deltas of a turn that was open when the reader received it, and those of each part of it, are
// contiguous and do not overlap.

import {
  isTextVisible,
  isVisible,
  openedBy,
  type ConversationEvent,
  type EventType,
  type Gap,
  type JournalEvent,
  type TurnDelta,
  type TurnPartDelta,
} from './event.ts'
import type { View } from '../../kernel/view.ts'
import type { OpenTurn } from './feed-state.ts'

/**
 * The content of an open turn that a reader has received: the UTF-16 end of the text, and for each part the end of its
 * text and whether the part was complete.
 */
type Received = { text: number; parts: readonly { end: number; isComplete: boolean }[] }
const NOTHING: Received = { text: 0, parts: [] }

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
  /** The received content, by id of each open turn. Empty while the reader follows the feed. */
  readonly received: Map<string, Received>
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

const receivedOf = ({ text, parts }: OpenTurn): Received => ({
  text: text.length,
  parts: parts.map((part) => ({ end: part.text.length, isComplete: part.isComplete })),
})

/**
 * Records the content of each open turn in view as received, for a reader that leaves the feed.
 * @param skipped the event that the reader has not received, or null; if it is a delta, `open` contains its text
 */
export function leaveFeed(state: ReaderState, open: Iterable<OpenTurn>, skipped: ConversationEvent | null): void {
  for (const each of open) if (isTextVisible(state.view, each.turn)) state.received.set(each.turn.id, receivedOf(each))
  if (skipped?.type !== 'TurnDelta' && skipped?.type !== 'TurnPartDelta') return
  const received = state.received.get(skipped.turnId) ?? NOTHING
  if (!isTextVisible(state.view, skipped.of)) return
  if (skipped.type === 'TurnDelta') state.received.set(skipped.turnId, { ...received, text: skipped.start })
  else state.received.set(skipped.turnId, { ...received, parts: partsBefore(received.parts, skipped) })
}

/** Returns the received parts without a delta, which is the newest one of its part. */
function partsBefore(parts: Received['parts'], { part: { number }, start }: TurnPartDelta): Received['parts'] {
  const isFirst = start === 0 && number === parts.length
  return isFirst ? parts.slice(0, -1) : parts.with(number - 1, { end: start, isComplete: false })
}

/** Changes the view of a reader that follows the feed. Returns the content of open turns that were not in view before. */
export function changeView(state: ReaderState, view: View, open: Iterable<OpenTurn>): ContentDelta[] {
  const before = state.view
  state.view = view
  const deltas: ContentDelta[] = []
  for (const each of open) if (!isTextVisible(before, each.turn)) pushContent(deltas, state, each, NOTHING)
  return deltas
}

/**
 * Records an entry that was read from the journal, not received from the feed. If the entry closes a turn in
 * `received`, returns the rest of the turn's text, which must be delivered before the entry; otherwise null.
 */
export function replay(state: ReaderState, event: JournalEvent): TurnDelta | null {
  const opened = openedBy(event)
  if (opened) state.received.set(opened.id, NOTHING)
  if (event.type === 'TurnErased') state.received.delete(event.turn.id)
  if (event.type !== 'TurnCommitted' && event.type !== 'TurnAborted') return null
  const { turn } = event
  const received = state.received.get(turn.id)
  state.received.delete(turn.id)
  return received === undefined ? null : textFrom(state, turn, turn.text, received.text)
}

/** Sets the view. Returns the content of open turns in view that the reader has not received. */
export function missingContent(state: ReaderState, view: View, open: Iterable<OpenTurn>): ContentDelta[] {
  state.view = view
  const deltas: ContentDelta[] = []
  for (const each of open) {
    if (isTextVisible(view, each.turn)) pushContent(deltas, state, each, state.received.get(each.turn.id) ?? NOTHING)
  }
  return deltas
}

/** Records a delta from `missingContent` as received. */
export function noteReceived(state: ReaderState, delta: ContentDelta): void {
  const received = state.received.get(delta.turnId) ?? NOTHING
  if (delta.type === 'TurnDelta') return void state.received.set(delta.turnId, { ...received, text: delta.end })
  const { number, text, isComplete } = delta.part
  const parts = [...received.parts]
  parts[number - 1] = { end: text.length, isComplete }
  state.received.set(delta.turnId, { ...received, parts })
}

/** Marks the reader as following the feed: it has reached the feed's head and received the content of all open turns. */
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

export type ContentDelta = TurnDelta | TurnPartDelta

/** Adds a delta for the text and one for each part of an open turn that contains more than was received. */
function pushContent(
  deltas: ContentDelta[],
  state: ReaderState,
  { turn, text, parts }: OpenTurn,
  received: Received,
): void {
  const delta = textFrom(state, turn, text, received.text)
  if (delta) deltas.push(delta)
  for (const part of parts) {
    const known = received.parts[part.number - 1]
    if (known && known.end >= part.text.length && known.isComplete === part.isComplete) continue
    deltas.push({ ...newDelta(state, turn), type: 'TurnPartDelta', part, start: known?.end ?? 0 })
  }
}

const newDelta = ({ conversationId }: ReaderState, turn: OpenTurn['turn']) => ({
  conversationId,
  seq: null,
  at: new Date(),
  turnId: turn.id,
  of: turn,
})

/** Returns the text of an open turn from `start`; null if there is none. */
function textFrom(state: ReaderState, turn: OpenTurn['turn'], text: string, start: number): TurnDelta | null {
  if (start >= text.length) return null
  return { ...newDelta(state, turn), type: 'TurnDelta', start, end: text.length, text: text.slice(start) }
}
