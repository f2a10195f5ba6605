// The position of one reader of a conversation: which entries and which text it was told, and through which view.
// Deterministic and without effects: follow.ts reads and writes. The state is changed in place, because every event
// passes through it once per reader, and that allocates nothing. Invariants: no entry is told twice; of a turn that was
// seen open, the deltas join without a gap or an overlap.

import { isToldText, isTold, type ConversationEvent, type Gap, type JournalEvent, type TurnDelta } from './event.ts'
import type { View } from '../view.ts'
import type { OpenTurn } from './feed-state.ts'

/** A live reader further behind than this many entries is told of a gap instead of the entries. */
export const HOPELESS = 10_000

export type ReaderState = {
  readonly conversationId: string
  /** Seq of the last entry that the reader had its chance to see. */
  cursor: number
  view: View
  /** The sink takes no more for now. */
  isFull: boolean
  /** The conversation's deletion was told: nothing comes after it. */
  isOver: boolean
  /** Whether it has followed the feed before: only then may entries be skipped. */
  isLive: boolean
  /** While it does not follow the feed: by turn that it saw open, the end of the text it was told. */
  readonly told: Map<string, number>
}

export const startReaderState = (conversationId: string, cursor: number, view: View): ReaderState => ({
  conversationId,
  cursor,
  view,
  isFull: false,
  isOver: false,
  isLive: false,
  told: new Map(),
})

/** Moves the cursor to a live event. False for an entry at or before the cursor. */
export function moveTo(state: ReaderState, event: ConversationEvent): boolean {
  if (event.seq === null) return true
  if (event.seq <= state.cursor) return false
  state.cursor = event.seq
  return true
}

/** Whether the reader is told the event: its view shows it, and the conversation's deletion was not told before. */
export function takes(state: ReaderState, event: ConversationEvent): boolean {
  if (state.isOver) return false
  state.isOver = event.type === 'ConversationDeleted'
  return isTold(state.view, event)
}

/** The reader leaves the feed, where it was told the text of every open turn that it sees. */
export function leaveFeed(state: ReaderState, open: Iterable<OpenTurn>): void {
  for (const { turn, text } of open) if (isToldText(state.view, turn)) state.told.set(turn.id, text.length)
}

/** Changes the view of a reader that follows the feed. The result brings in the open turns that it did not see before. */
export function changeView(state: ReaderState, view: View, open: Iterable<OpenTurn>): TurnDelta[] {
  const before = state.view
  state.view = view
  const deltas: TurnDelta[] = []
  for (const each of open) if (!isToldText(before, each.turn)) pushText(deltas, state, each, 0)
  return deltas
}

/**
 * Notes an entry that the reader takes from the journal instead of from the feed. The result comes before the entry: the
 * text that a closed turn still lacks, if the reader saw it open; else null.
 */
export function replay(state: ReaderState, event: JournalEvent): TurnDelta | null {
  if (event.type === 'TurnOpened' && event.turn.status === 'STREAMING') state.told.set(event.turn.id, 0)
  if (event.type !== 'TurnCommitted' && event.type !== 'TurnAborted') return null
  const { turn } = event
  const start = state.told.get(turn.id)
  state.told.delete(turn.id)
  return start === undefined ? null : textFrom(state, { turn, text: turn.text }, start)
}

/** The reader is where the feed is, and follows it from here. The result is the text of open turns that it lacks. */
export function joinFeed(state: ReaderState, view: View, open: Iterable<OpenTurn>): TurnDelta[] {
  state.view = view
  const deltas: TurnDelta[] = []
  for (const each of open) pushText(deltas, state, each, state.told.get(each.turn.id) ?? 0)
  state.told.clear()
  state.isLive = true
  return deltas
}

/** Whether a reader that was live is too far behind to be told every entry up to `head`. */
export const isHopeless = (state: ReaderState, head: number): boolean => state.isLive && head - state.cursor > HOPELESS

/** Skips all entries up to `head`. */
export function skipTo(state: ReaderState, head: number): Gap {
  state.cursor = head
  state.told.clear()
  const { conversationId } = state
  return { type: 'Gap', conversationId, seq: null, at: new Date(), resumeAfter: head }
}

function pushText(deltas: TurnDelta[], state: ReaderState, open: OpenTurn, start: number): void {
  const delta = textFrom(state, open, start)
  if (delta) deltas.push(delta)
}

/** The text of an open turn from `start` on, or null if there is none. */
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
