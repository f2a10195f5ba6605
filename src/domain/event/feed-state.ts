// The state of a conversation's feed, and the events that each input leads to. Pure: feed.ts reads and emits.
// One input is one moment. A follower that leaves the feed during an event notes the texts of `open` as told, so no text
// in it may be ahead of the events: hence one entry, or the text of one turn, at a time.

import type { ParticipantRow } from '../../store/sql/participant/read-participants.ts'
import type { TurnRow } from '../../store/sql/turn/turn-columns.ts'
import type { Participant } from '../participant.ts'
import type { PresenceState } from '../presence-state.ts'
import { OPEN_VIEW, type View } from '../view.ts'
import type { ConversationEvent, JournalEvent, TurnEvent } from './event.ts'

/** An open turn, and the text of it that the feed has emitted. */
export type OpenTurn = { readonly turn: TurnRow; readonly text: string }

export type FeedState = {
  readonly conversationId: string
  /** Seq of the newest entry that was emitted. */
  readonly head: number
  /** The open turns by id, in the order they were opened. */
  readonly open: ReadonlyMap<string, OpenTurn>
  /** Everyone who is or was a participant, by actor. */
  readonly participants: ReadonlyMap<string, ParticipantRow>
  readonly deleted: boolean
}

export type FeedInput =
  /** The next entry of the journal. */
  | { type: 'entry'; event: JournalEvent; at: Date }
  /** A page of the journal ended with this entry, which may have led to no event. */
  | { type: 'pageEnd'; seq: number }
  /** Text from `start` on, as the bus delivers it: perhaps twice, perhaps with text missing before it. */
  | { type: 'delta'; turnId: string; start: number; text: string; at: Date }
  /** All the text of one open turn, as stored. */
  | { type: 'text'; turnId: string; text: string; at: Date }
  | { type: 'participants'; participants: readonly ParticipantRow[] }
  | { type: 'read'; participant: Participant; at: Date }
  | { type: 'presence'; participant: Participant; state: PresenceState; at: Date }
  | { type: 'deleted'; at: Date }

/** The state after an input, and the events to emit, in order. */
export type FeedStep = { readonly state: FeedState; readonly events: readonly ConversationEvent[] }

const NO_EVENTS: readonly ConversationEvent[] = []

/** The state of a feed that starts after entry `head`. A turn opened after it is left out: its entry adds it. */
export function startFeedState(
  conversationId: string,
  head: number,
  open: readonly OpenTurn[],
  participants: readonly ParticipantRow[],
): FeedState {
  return {
    conversationId,
    head,
    open: new Map(open.filter(({ turn }) => turn.seq <= head).map((each) => [each.turn.id, each])),
    participants: byActor(participants),
    deleted: false,
  }
}

export function reduceFeed(state: FeedState, input: FeedInput): FeedStep {
  const { conversationId } = state
  switch (input.type) {
    case 'entry':
      return addEntry(state, input.event, input.at)
    case 'pageEnd':
      return { state: input.seq === state.head ? state : { ...state, head: input.seq }, events: NO_EVENTS }
    case 'delta': {
      const known = state.open.get(input.turnId)
      if (!known || input.start > known.text.length) return { state, events: NO_EVENTS }
      return extendText(state, known, known.text.slice(0, input.start) + input.text, input.at)
    }
    case 'text': {
      const known = state.open.get(input.turnId)
      return known ? extendText(state, known, input.text, input.at) : { state, events: NO_EVENTS }
    }
    case 'participants':
      return { state: { ...state, participants: byActor(input.participants) }, events: NO_EVENTS }
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
  const moved = { ...state, head: event.seq }
  if (event.type === 'TurnOpened' && event.turn.status === 'STREAMING') {
    return { state: { ...moved, open: withTurn(state.open, { turn: event.turn, text: '' }) }, events: [event] }
  }
  if (event.type !== 'TurnCommitted' && event.type !== 'TurnAborted') return { state: moved, events: [event] }
  return closeTurn(moved, event, at)
}

/** Emits the text that the turn still lacks, then the entry that closes it. */
function closeTurn(state: FeedState, event: TurnEvent, at: Date): FeedStep {
  const known = state.open.get(event.turn.id)
  if (!known) return { state, events: [event] }
  const { events } = extendText(state, known, event.turn.text, at)
  const open = new Map(state.open)
  open.delete(event.turn.id)
  return { state: { ...state, open }, events: [...events, event] }
}

/** Emits the text beyond what was emitted of the turn, given all of it. */
function extendText(state: FeedState, known: OpenTurn, text: string, at: Date): FeedStep {
  const start = known.text.length
  if (text.length <= start) return { state, events: NO_EVENTS }
  const { turn } = known
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
  return { state: { ...state, open: withTurn(state.open, { turn, text }) }, events: [event] }
}

const withTurn = (open: ReadonlyMap<string, OpenTurn>, changed: OpenTurn) => new Map(open).set(changed.turn.id, changed)

const byActor = (participants: readonly ParticipantRow[]) => new Map(participants.map((each) => [each.actor, each]))

/** What must be read before a delta can be emitted: the entries that open its turn, or the text before it. */
export function missingFor(state: FeedState, delta: { turnId: string; start: number }): 'entries' | 'text' | null {
  const known = state.open.get(delta.turnId)
  if (!known) return 'entries'
  return delta.start > known.text.length ? 'text' : null
}

/** Whether views may differ after the entry, so that participants must be read before it is emitted. */
export const changesViews = ({ participants }: FeedState, event: JournalEvent): boolean =>
  event.type === 'ParticipantJoined'
  || event.type === 'ParticipantLeft'
  || ('turn' in event && event.turn.audience?.some((actor) => !participants.get(actor)?.addressed) === true)

export const viewIn = ({ participants }: FeedState, actor: string): View => participants.get(actor) ?? OPEN_VIEW

/** The actor's view after a change of participants, or null if it is the same as before. */
export function changedView(before: FeedState, after: FeedState, actor: string): View | null {
  const [was, is] = [before.participants.get(actor), after.participants.get(actor)]
  if (!is || (was?.windows.join() === is.windows.join() && was.addressed === is.addressed)) return null
  return is
}
