// The state of a live transcript, and its pure reducer, which applies pages of the history and delivered events. States
// are immutable, so that user interfaces can compare them.

import type { ColloquyError } from '../transport/errors.ts'
import type { FollowedEvent, JoinedPartDelta } from './follow.ts'
import type { Conversation, Participant, Turn } from '../generated.ts'
import type { Acknowledged, PendingTurn } from './outbox.ts'

/**
 * A turn of a transcript. While it is open, `parts` also has the reasoning so far, and tool calls whose arguments are not
 * complete: their `arguments` are the text received so far.
 */
export type TranscriptTurn = Turn & {
  /** The parts of an open turn besides its text, as received, by number. They include the progress of tools. */
  readonly live?: readonly JoinedPartDelta[]
}

export type TranscriptState = {
  /**
   * `loading` before the first history is read, `live` while events arrive, `waiting` while the connection is lost,
   * `deleted` once the conversation is deleted, and `failed` after a permanent error, or when the viewer no longer sees
   * the conversation.
   */
  readonly status: 'loading' | 'live' | 'waiting' | 'deleted' | 'failed'
  /** The newest failure; null while `status` is `live`. */
  readonly error: ColloquyError | null
  readonly conversation: Conversation | null
  /** The participants read from the server, at most 200, and then those who joined since. */
  readonly participants: readonly Participant[]
  /** Each turn once, in its newest version, by position. An open turn has the content streamed so far. */
  readonly turns: readonly TranscriptTurn[]
  /**
   * The turns that the client has appended and the server has not acknowledged, to be shown after `turns`. An
   * acknowledged turn moves to `turns` in one change.
   */
  readonly pending: readonly PendingTurn[]
  /**
   * Turns by the viewer that arrived while calls of its own were not answered. They may be the turns in `pending`, so
   * they are added to `turns` when these calls have ended.
   */
  readonly unmatched: readonly Turn[]
  /** Whether the history has turns before the first of `turns`. */
  readonly hasOlder: boolean
  /** The received parts of open turns, by id of the turn. The turn need not be shown yet. */
  readonly live: Readonly<Record<string, readonly JoinedPartDelta[]>>
  /** Seq of the newest entry that the state includes. */
  readonly lastSeq: number
  /** Actor whose view the transcript shows; null if the actor never joined the conversation. */
  readonly viewer: string | null
  /** Whether entries were skipped or the view changed, so that the history must be read again. */
  readonly isStale: boolean
}

export type TranscriptAction =
  | {
      type: 'read'
      conversation: Conversation
      viewer: string | null
      participants: readonly Participant[]
      turns: readonly Turn[]
      hasOlder: boolean
    }
  | { type: 'older'; turns: readonly Turn[]; hasOlder: boolean }
  | { type: 'event'; event: FollowedEvent }
  /** The outbox changed; `acknowledged` is the turn that was acknowledged. */
  | { type: 'outbox'; pending: readonly PendingTurn[]; acknowledged?: Acknowledged | undefined }
  | { type: 'connection'; status: 'live' | 'waiting' | 'failed'; error: ColloquyError | null }

export const EMPTY: TranscriptState = {
  status: 'loading',
  error: null,
  conversation: null,
  participants: [],
  turns: [],
  pending: [],
  unmatched: [],
  hasOlder: false,
  live: {},
  lastSeq: 0,
  viewer: null,
  isStale: false,
}

/** The index of the turn with the position, or of the first turn after it. Most events are about the newest turns. */
function indexOf(turns: readonly Turn[], position: number): number {
  let index = turns.length
  while (index > 0 && turns[index - 1]!.position >= position) index -= 1
  return index
}

/**
 * Returns the newer of two states of a turn: the one shown, and the one received. An event contains the current state
 * of its turn, so it may repeat the state shown. The text of an open turn only grows.
 */
function newerOf(shown: TranscriptTurn, received: TranscriptTurn): TranscriptTurn {
  if (received.seq !== shown.seq) return received.seq > shown.seq ? received : shown
  if (received.status !== 'STREAMING') return received
  if (shown.status !== 'STREAMING') return shown
  return received.text.length >= shown.text.length ? received : withContent(received, shown.text, received.live)
}

/** Returns the turn with the parts that were received, if it is open. */
const withLive = ({ live }: TranscriptState, turn: Turn): TranscriptTurn =>
  turn.status === 'STREAMING' && live[turn.id] ? withContent(turn, turn.text, live[turn.id]) : turn

type Part = Turn['parts'][number]

/** Returns a part of an open turn as far as it was received; null for one that is not shown, such as progress of a tool. */
function partOf({ part, type, callId, toolName, joined }: JoinedPartDelta): Part | null {
  if (part) return part
  if (type === 'REASONING') return { __typename: 'ReasoningPart', reasoning: joined, signature: null }
  if (type !== 'TOOL_CALL') return null
  return { __typename: 'ToolCallPart', callId: callId!, name: toolName!, arguments: joined }
}

/** Returns the open turn with the text, and with each part where it stands in the text. */
function withContent(turn: Turn, text: string, live: readonly JoinedPartDelta[] = []): TranscriptTurn {
  const parts: Part[] = []
  let from = 0
  const addText = (end: number) => {
    if (end > from) parts.push({ __typename: 'TextPart', text: text.slice(from, end) })
    from = end
  }
  for (const delta of live) {
    const part = partOf(delta)
    if (!part) continue
    addText(delta.offset)
    parts.push(part)
  }
  addText(text.length)
  return { ...turn, text, parts, ...(live.length > 0 && { live }) }
}

/** Adds or replaces a turn. Ignores a turn before the oldest page that was read: the action `older` adds it. */
function withTurn(state: TranscriptState, received: Turn): TranscriptState {
  const { turns } = state
  const turn = withLive(state, received)
  const index = indexOf(turns, turn.position)
  const shown = turns[index]
  if (shown?.position === turn.position) {
    const newer = newerOf(shown, turn)
    return newer === shown ? state : { ...state, turns: turns.with(index, newer) }
  }
  return index === 0 && state.hasOlder ? state : { ...state, turns: turns.toSpliced(index, 0, turn) }
}

/** Sets the text of an open turn up to the end of a delta. A history page that was read later may have more text. */
function withText(state: TranscriptState, turnId: string, text: string): TranscriptState {
  const index = state.turns.findLastIndex(({ id }) => id === turnId)
  const turn = state.turns[index]
  if (turn?.status !== 'STREAMING' || text.length <= turn.text.length) return state
  return { ...state, turns: state.turns.with(index, withContent(turn, text, turn.live)) }
}

/** Sets a part of an open turn. */
function withPart(state: TranscriptState, delta: JoinedPartDelta): TranscriptState {
  const { turnId, number } = delta
  const parts = [...(state.live[turnId] ?? [])]
  parts[number - 1] = delta
  const live = { ...state.live, [turnId]: parts }
  const index = state.turns.findLastIndex(({ id }) => id === turnId)
  const turn = state.turns[index]
  if (turn?.status !== 'STREAMING') return { ...state, live }
  return { ...state, live, turns: state.turns.with(index, withContent(turn, turn.text, parts)) }
}

/** Drops the parts of a turn that has ended. */
function withoutParts(state: TranscriptState, turnId: string): TranscriptState {
  if (!state.live[turnId]) return state
  const { [turnId]: _, ...live } = state.live
  return { ...state, live }
}

function withParticipant(state: TranscriptState, participant: Participant): TranscriptState {
  const index = state.participants.findIndex(({ id }) => id === participant.id)
  const participants = index < 0 ? [...state.participants, participant] : state.participants.with(index, participant)
  return { ...state, participants }
}

/** Whether a turn that is new to the state may be one that is shown as pending. */
const mayBePending = ({ pending, viewer }: TranscriptState, { actor }: Turn): boolean =>
  (viewer ?? actor) === actor && pending.some(({ status }) => status === 'PENDING')

/** Shows the pending turns, and adds the turns that wait until no call runs. The viewer joins by its first turn. */
function withOutbox(
  state: TranscriptState,
  pending: readonly PendingTurn[],
  acknowledged?: Acknowledged,
): TranscriptState {
  const isShown = state.pending.some(({ clientId }) => clientId === acknowledged?.clientId)
  const { turn } = (isShown && acknowledged) || { turn: null }
  const next = turn ? { ...withTurn(state, turn), pending, viewer: turn.actor } : { ...state, pending }
  if (pending.some(({ status }) => status === 'PENDING')) return next
  return state.unmatched.reduce(withTurn, { ...next, unmatched: [] })
}

function applyEvent(state: TranscriptState, event: FollowedEvent): TranscriptState {
  switch (event.__typename) {
    case 'TurnAppended':
      return mayBePending(state, event.turn)
        ? { ...state, unmatched: [...state.unmatched, event.turn] }
        : withTurn(state, event.turn)
    case 'TurnCommitted':
    case 'TurnAborted':
    case 'TurnErased':
      return withTurn(withoutParts(state, event.turn.id), event.turn)
    case 'TurnOpened':
    case 'TurnUpdated':
      return withTurn(state, event.turn)
    case 'TurnSuperseded':
      return withTurn(state, event.by)
    case 'TurnDelta':
      return withText(state, event.turnId, event.joined)
    case 'TurnPartDelta':
      return withPart(state, event)
    case 'ParticipantJoined':
    case 'ParticipantLeft':
    case 'ParticipantUpdated': {
      const next = withParticipant(state, event.participant)
      return event.participant.actor === state.viewer ? { ...next, isStale: true } : next
    }
    case 'ParticipantRead':
    case 'PresenceChanged':
      return withParticipant(state, event.participant)
    case 'ConversationUpdated':
      return { ...state, conversation: event.conversation }
    case 'Gap':
      return { ...state, isStale: true }
    case 'ConversationDeleted':
      return { ...state, status: 'deleted', turns: [], participants: [], hasOlder: false }
    default:
      return state
  }
}

/** Returns the given turns that precede the first turn shown. */
const olderThan = ({ turns: [first] }: TranscriptState, turns: readonly Turn[]) =>
  first ? turns.filter(({ position }) => position < first.position) : turns

export function reduceTranscript(state: TranscriptState, action: TranscriptAction): TranscriptState {
  switch (action.type) {
    case 'read': {
      const { conversation, viewer, participants, turns, hasOlder } = action
      const { lastSeq, turns: shown, unmatched } = state
      const isUnmatched = (turn: Turn) => state.conversation && turn.seq > lastSeq && mayBePending(state, turn)
      const read = {
        ...state,
        conversation,
        viewer,
        participants,
        turns: turns.filter((turn) => !isUnmatched(turn)).map((turn) => withLive(state, turn)),
        unmatched: [...unmatched, ...turns.filter(isUnmatched)],
        hasOlder,
        isStale: false,
        lastSeq: Math.max(conversation.lastSeq, lastSeq),
      }
      // Turns that were acknowledged while the history was read.
      return shown.filter(({ seq }) => seq > conversation.lastSeq).reduce(withTurn, read)
    }
    case 'outbox':
      return withOutbox(state, action.pending, action.acknowledged)
    case 'older':
      return {
        ...state,
        turns: [...olderThan(state, action.turns).map((turn) => withLive(state, turn)), ...state.turns],
        hasOlder: action.hasOlder,
      }
    case 'event': {
      const next = applyEvent(state, action.event)
      const seq = action.event.seq ?? ('resumeAfterSeq' in action.event ? action.event.resumeAfterSeq : 0)
      return seq > state.lastSeq ? { ...next, lastSeq: seq } : next
    }
    case 'connection':
      if (state.status === 'deleted' || (state.status === action.status && state.error === action.error)) return state
      return { ...state, status: action.status, error: action.error }
  }
}
