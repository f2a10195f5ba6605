// The reducer of a conversation's feed: returns the next state and the events to emit. Pure: feed.ts reads and emits.
// Invariant: `open` contains no content that was not emitted, because a follower that leaves the feed during an event
// records the content in `open` as received. Each input is therefore at most one entry, or one text or part of a turn.

import type { ConversationVisibility } from '../../../store/generated/enums.ts'
import type { ParticipantRow } from '../../../store/sql/conversation/participant/read-participants.ts'
import type { OpenContent, OpenPart } from '../../../store/sql/turn/streaming/open-content.ts'
import type { TurnRow } from '../../../store/sql/turn/turn-columns.ts'
import type { Participant } from '../../conversation/participant/participant.ts'
import type { PresenceState, WrittenPart } from '../../kernel/live/publisher.ts'
import { viewIn, type View } from '../../kernel/view.ts'
import { openedBy, type ConversationEvent, type JournalEvent, type TurnEvent } from './event.ts'

/** An open turn, and the content of it that the feed has emitted. */
export type OpenTurn = { readonly turn: TurnRow } & OpenContent

export type FeedState = {
  readonly conversationId: string
  /** Seq of the newest emitted entry. */
  readonly head: number
  /** The open turns by id, in the order in which they were opened. */
  readonly open: ReadonlyMap<string, OpenTurn>
  /** Present and former participants, by actor. */
  readonly participants: ReadonlyMap<string, ParticipantRow>
  readonly visibility: ConversationVisibility
  readonly deleted: boolean
}

export type FeedInput =
  /** The next entry of the journal. */
  | { type: 'entry'; event: JournalEvent; at: Date }
  /** The seq of the last entry of a journal page. The entry may have no event. */
  | { type: 'pageEnd'; seq: number }
  /**
   * Text of a turn, or of a part of it, from `start`, as the bus delivers it: it may repeat what was emitted, or what
   * precedes it may be missing.
   */
  | { type: 'delta'; turnId: string; part: WrittenPart | null; start: number; text: string; at: Date }
  /** The whole stored text of one open turn. */
  | { type: 'text'; turnId: string; text: string; at: Date }
  /** A whole stored part of one open turn. */
  | { type: 'part'; turnId: string; part: OpenPart; at: Date }
  | { type: 'participants'; participants: readonly ParticipantRow[]; visibility: ConversationVisibility }
  | { type: 'read'; participant: Participant; at: Date }
  | { type: 'presence'; participant: Participant; state: PresenceState; at: Date }
  | { type: 'deleted'; at: Date }

/** The state after an input, and the events to emit in order. */
export type FeedStep = { readonly state: FeedState; readonly events: readonly ConversationEvent[] }

const NO_EVENTS: readonly ConversationEvent[] = []

/** What a feed starts with: the newest entry, and the open turns, participants and visibility after it. */
export type FeedStart = {
  conversationId: string
  head: number
  open: readonly OpenTurn[]
  participants: readonly ParticipantRow[]
  visibility: ConversationVisibility
}

/** Returns the state of a feed that starts after entry `head`. Turns opened after `head` are added by their entries. */
export function startFeedState({ open, participants, ...start }: FeedStart): FeedState {
  const { head } = start
  return {
    ...start,
    open: new Map(open.filter(({ turn }) => turn.seq <= head).map((each) => [each.turn.id, each])),
    participants: byActor(participants),
    deleted: false,
  }
}

/** Returns the state after the input, and the events that the input causes. */
export function reduceFeed(state: FeedState, input: FeedInput): FeedStep {
  const { conversationId } = state
  switch (input.type) {
    case 'entry':
      return addEntry(state, input.event, input.at)
    case 'pageEnd':
      return { state: input.seq === state.head ? state : { ...state, head: input.seq }, events: NO_EVENTS }
    case 'delta': {
      const current = state.open.get(input.turnId)
      if (!current || missingFor(state, input)) return { state, events: NO_EVENTS }
      if (input.part) return changePart(state, current, partAfter(current, input.part, input), input.at)
      return extendText(state, current, current.text.slice(0, input.start) + input.text, input.at)
    }
    case 'text': {
      const current = state.open.get(input.turnId)
      return current ? extendText(state, current, input.text, input.at) : { state, events: NO_EVENTS }
    }
    case 'part': {
      const current = state.open.get(input.turnId)
      return current ? changePart(state, current, input.part, input.at) : { state, events: NO_EVENTS }
    }
    case 'participants':
      return {
        state: { ...state, participants: byActor(input.participants), visibility: input.visibility },
        events: NO_EVENTS,
      }
    case 'read': {
      const { participant, at } = input
      return { state, events: [{ type: 'ParticipantRead', conversationId, seq: null, at, participant }] }
    }
    case 'presence': {
      const { participant, at } = input
      const event: ConversationEvent = {
        type: 'PresenceChanged',
        conversationId,
        seq: null,
        at,
        participant,
        state: input.state,
      }
      return { state, events: [event] }
    }
    case 'deleted': {
      const { at } = input
      return {
        state: { ...state, deleted: true },
        events: [{ type: 'ConversationDeleted', conversationId, seq: null, at }],
      }
    }
  }
}

function addEntry(state: FeedState, event: JournalEvent, at: Date): FeedStep {
  const advanced = { ...state, head: event.seq }
  const opened = openedBy(event)
  if (opened) {
    const open = withTurn(state.open, { turn: opened, text: '', parts: [] })
    return { state: { ...advanced, open }, events: [event] }
  }
  if (event.type === 'TurnErased') return { state: withoutTurn(advanced, event.turn.id), events: [event] }
  if (event.type !== 'TurnCommitted' && event.type !== 'TurnAborted') return { state: advanced, events: [event] }
  return closeTurn(advanced, event, at)
}

/** Emits the rest of the turn's text, then the entry that closes the turn. */
function closeTurn(state: FeedState, event: TurnEvent, at: Date): FeedStep {
  const current = state.open.get(event.turn.id)
  if (!current) return { state, events: [event] }
  const { events } = extendText(state, current, event.turn.text, at)
  return { state: withoutTurn(state, event.turn.id), events: [...events, event] }
}

function withoutTurn(state: FeedState, turnId: string): FeedState {
  if (!state.open.has(turnId)) return state
  const open = new Map(state.open)
  open.delete(turnId)
  return { ...state, open }
}

/** Emits the part of a turn's text that was not emitted before; `text` is the text from the start of the turn. */
function extendText(state: FeedState, current: OpenTurn, text: string, at: Date): FeedStep {
  const start = current.text.length
  if (text.length <= start) return { state, events: NO_EVENTS }
  const { turn } = current
  const event: ConversationEvent = {
    type: 'TurnDelta',
    conversationId: state.conversationId,
    seq: null,
    at,
    turnId: turn.id,
    start,
    end: text.length,
    text: text.slice(start),
    of: turn,
  }
  return { state: { ...state, open: withTurn(state.open, { ...current, text }) }, events: [event] }
}

/** Returns a part of the turn after a delta. */
function partAfter(
  { parts }: OpenTurn,
  { number, at, content, isComplete }: WrittenPart,
  { start, text }: { start: number; text: string },
): OpenPart {
  const known = parts[number - 1] ?? { number, at, content: {}, text: '', isComplete: false }
  const longer = known.text.slice(0, start) + text
  return {
    ...known,
    content: content ? { ...known.content, ...content } : known.content,
    text: longer.length > known.text.length ? longer : known.text,
    isComplete: known.isComplete || isComplete,
  }
}

/** Emits the changes of a part that were not emitted before. A part is the turn's next one, or has changed. */
function changePart(state: FeedState, current: OpenTurn, part: OpenPart, at: Date): FeedStep {
  const { turn, parts } = current
  const known = parts[part.number - 1]
  const start = known?.text.length ?? 0
  const isLater = part.number > parts.length + 1
  if (isLater || (known && part.text.length <= start && part.isComplete === known.isComplete)) {
    return { state, events: NO_EVENTS }
  }
  const { conversationId } = state
  const event: ConversationEvent = {
    type: 'TurnPartDelta',
    conversationId,
    seq: null,
    at,
    turnId: turn.id,
    part,
    start,
    of: turn,
  }
  const changed = { ...current, parts: [...parts.slice(0, part.number - 1), part, ...parts.slice(part.number)] }
  return { state: { ...state, open: withTurn(state.open, changed) }, events: [event] }
}

const withTurn = (open: ReadonlyMap<string, OpenTurn>, changed: OpenTurn) => new Map(open).set(changed.turn.id, changed)

const byActor = (participants: readonly ParticipantRow[]) => new Map(participants.map((each) => [each.actor, each]))

/**
 * Returns the data that must be read before the delta is applied: the entry that opens its turn, or earlier content;
 * null if nothing is missing.
 */
export function missingFor(
  state: FeedState,
  { turnId, part, start }: { turnId: string; part: WrittenPart | null; start: number },
): 'entries' | 'content' | null {
  const current = state.open.get(turnId)
  if (!current) return 'entries'
  if (!part) return start > current.text.length ? 'content' : null
  const known = current.parts[part.number - 1]
  const isNext = part.number === current.parts.length + 1 && part.content !== null && start === 0
  return known ? (start > known.text.length ? 'content' : null) : isNext ? null : 'content'
}

/** The audience of the turn or the state that the entry is about; null for none. */
const audienceOf = (event: JournalEvent): readonly string[] | null =>
  'turn' in event ? event.turn.audience : event.type === 'SharedStateChanged' ? event.audience : null

/** Whether the entry may change views. If so, the participants and the visibility must be read before it is emitted. */
export const changesViews = ({ participants }: FeedState, event: JournalEvent): boolean =>
  event.type === 'ParticipantJoined'
  || event.type === 'ParticipantLeft'
  || event.type === 'ParticipantUpdated'
  || event.type === 'ConversationUpdated'
  || audienceOf(event)?.some((actor) => !participants.get(actor)?.addressed) === true

export const viewOf = ({ participants, visibility }: FeedState, actor: string): View =>
  viewIn(visibility, participants.get(actor))

/** Whether the actor has left a MEMBERS conversation, so that it receives no events until it is added again. */
export const hasLeft = ({ participants, visibility }: FeedState, actor: string): boolean =>
  visibility === 'MEMBERS' && (participants.get(actor)?.leftAt ?? null) !== null

/** Returns the actor's view after a change of participants or visibility; null if it did not change. */
export function changedView(before: FeedState, after: FeedState, actor: string): View | null {
  const [old, current] = [viewOf(before, actor), viewOf(after, actor)]
  const isSame =
    old.actor === current.actor && old.windows.join() === current.windows.join() && old.addressed === current.addressed
  return isSame ? null : current
}
