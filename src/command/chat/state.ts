// The state of a chat: the answers that are being written, and the lines that events add above them. Pure.

import type { FollowedEvent, Participant, Turn } from '../../client/index.ts'
import { oneLine } from '../output.ts'
import { plain } from '../text.ts'

/** A line of the chat. `tone` decides its colour. */
export type Line = { text: string; tone: 'turn' | 'own' | 'note' | 'problem' }

/** An answer that is being written. */
export type Writing = { turnId: string; actor: string; text: string }

/** A run of an agent that has not ended. */
export type RunningRun = { id: string; actor: string; state: string }

export type ChatState = {
  /** Actor of the person at the terminal. */
  readonly me: string
  /** Names of the present participants. */
  readonly names: readonly string[]
  /** Display names, by actor. */
  readonly titles: ReadonlyMap<string, string>
  /** In the order in which they began. */
  readonly writing: readonly Writing[]
  readonly runs: readonly RunningRun[]
  /** Whether the conversation is deleted, or no longer seen. */
  readonly isEnded: boolean
}

/** A change of the state, and the lines that it adds. `asks`: whether a tool call waits for a decision. */
export type Change = { state: ChatState; lines: readonly Line[]; asks?: boolean }

export const EMPTY: ChatState = { me: '', names: [], titles: new Map(), writing: [], runs: [], isEnded: false }

const note = (text: string): Line => ({ text: plain(text), tone: 'note' })

/** Returns the name that the chat shows for an actor. */
export const titleOf = ({ titles }: ChatState, actor: string): string => titles.get(actor) ?? actor

/** Returns the lines of a turn: its seq, its author and its audience, then its text and its tool calls. */
function linesOfTurn(state: ChatState, turn: Turn): Line[] {
  const { seq, actor, text, parts, audience, status } = turn
  const others = audience?.filter((name) => name !== actor)
  const marks = [
    ...(others ? [`to ${others.join(', ') || 'themselves'}`] : []),
    ...(status === 'ABORTED' ? ['aborted'] : []),
  ]
  const head = `#${seq} ${titleOf(state, actor)}${marks.length > 0 ? ` (${marks.join('; ')})` : ''}: `
  const calls = parts.flatMap((part) => {
    if (part.__typename === 'ToolCallPart')
      return [`[calls ${part.name} ${oneLine(JSON.stringify(part.arguments), 200)}]`]
    if (part.__typename === 'ToolResultPart') {
      return [`[result of ${part.name}: ${oneLine(JSON.stringify(part.result), 200)}]`]
    }
    if (part.__typename === 'SourcePart') return [`[source ${part.title ?? part.url}]`]
    return part.__typename === 'FilePart'
      ? [`[file ${part.fileName ?? part.url}${part.caption ? `: ${part.caption}` : ''}]`]
      : []
  })
  const tone = actor === state.me ? 'own' : 'turn'
  const body = [...(text === '' ? [] : [text]), ...calls].join('\n')
  return [{ text: plain(`${head}${body === '' ? '[no content]' : body}`), tone }]
}

function withParticipant(state: ChatState, { actor, displayName, leftAt }: Participant): ChatState {
  const others = state.names.filter((name) => name !== actor)
  const titles = new Map(state.titles)
  if (displayName) titles.set(actor, plain(displayName))
  return { ...state, titles, names: leftAt === null ? [...others, actor] : others }
}

/** Returns the state of a chat that begins with these turns, and their lines. */
export function begin(me: string, participants: readonly Participant[], turns: readonly Turn[]): Change {
  const state = participants.reduce(withParticipant, { ...EMPTY, me })
  const isOpen = ({ status }: Turn) => status === 'STREAMING'
  const writing = turns.filter(isOpen).map(({ id, actor, text }) => ({ turnId: id, actor, text }))
  const shown = turns.filter((turn) => !isOpen(turn))
  return { state: { ...state, writing }, lines: shown.flatMap((turn) => linesOfTurn(state, turn)) }
}

const without = (state: ChatState, turnId: string): ChatState => ({
  ...state,
  writing: state.writing.filter((each) => each.turnId !== turnId),
})

/** Adds a turn that is being written. */
function withOpen(state: ChatState, { id: turnId, actor, text }: Turn): ChatState {
  const others = without(state, turnId)
  return { ...others, writing: [...others.writing, { turnId, actor, text }] }
}

/** Adds or replaces a run, and removes one that has ended. */
function withRun(state: ChatState, { id, actor, state: at }: RunningRun): ChatState {
  const others = state.runs.filter((run) => run.id !== id)
  const isOver = at === 'COMPLETED' || at === 'FAILED' || at === 'CANCELLED'
  return { ...state, runs: isOver ? others : [...others, { id, actor, state: at }] }
}

/** Shows a turn that has ended in place of the answer that was being written. */
const ended = (state: ChatState, turn: Turn): Change => ({
  state: without(state, turn.id),
  lines: linesOfTurn(state, turn),
})

function afterTurn(state: ChatState, event: FollowedEvent): Change | null {
  switch (event.__typename) {
    case 'TurnAppended':
    case 'TurnCommitted':
      return ended(state, event.turn)
    case 'TurnAborted': {
      const change = ended(state, event.turn)
      const reason = event.turn.abortReason ?? 'no reason was given'
      return { ...change, lines: [...change.lines, { text: plain(`  aborted: ${reason}`), tone: 'problem' }] }
    }
    case 'TurnOpened':
      return { state: withOpen(state, event.turn), lines: [] }
    case 'TurnDelta': {
      const writing = state.writing.map((each) =>
        each.turnId === event.turnId ? { ...each, text: event.joined } : each,
      )
      return { state: { ...state, writing }, lines: [] }
    }
    case 'TurnSuperseded':
      if (event.by.status === 'STREAMING') {
        return { state: withOpen(state, event.by), lines: [note(`#${event.turn.seq} is regenerated:`)] }
      }
      return { state, lines: [note(`#${event.turn.seq} was edited:`), ...linesOfTurn(state, event.by)] }
    case 'TurnErased':
      return { state: without(state, event.turn.id), lines: [note(`#${event.turn.seq} was erased`)] }
    default:
      return null
  }
}

/** Returns the state after the event, and the lines that the event adds. */
export function reduce(state: ChatState, event: FollowedEvent): Change {
  const change = afterTurn(state, event)
  if (change) return change
  switch (event.__typename) {
    case 'ParticipantJoined':
    case 'ParticipantLeft': {
      const verb = event.__typename === 'ParticipantJoined' ? 'joined' : 'left'
      const next = withParticipant(state, event.participant)
      return { state: next, lines: [note(`${titleOf(next, event.participant.actor)} ${verb}`)] }
    }
    case 'ParticipantUpdated':
      return { state: withParticipant(state, event.participant), lines: [] }
    case 'RunStarted':
      return { state: withRun(state, event.run), lines: [] }
    case 'RunChanged': {
      const { actor, error, state: at } = event.run
      const failed: Line[] = error
        ? [{ text: plain(`${titleOf(state, actor)}: ${error.code}: ${error.message}`), tone: 'problem' }]
        : at === 'CANCELLED'
          ? [note(`${titleOf(state, actor)} was stopped`)]
          : []
      return { state: withRun(state, event.run), lines: failed, asks: at === 'WAITING_FOR_APPROVAL' }
    }
    case 'ApprovalRequested':
      return { state, lines: [], asks: true }
    case 'ApprovalResolved': {
      const { toolName, decidedBy, state: at } = event.approval
      return {
        state,
        lines: [note(`${toolName}: ${at.toLowerCase()}${decidedBy ? ` by ${decidedBy}` : ''}`)],
        asks: true,
      }
    }
    case 'ConversationDeleted':
      return {
        state: { ...state, isEnded: true, writing: [], runs: [] },
        lines: [note('the conversation was deleted')],
      }
    case 'Gap':
      return { state: { ...state, writing: [] }, lines: [note('some entries were skipped: see /history')] }
    default:
      return { state, lines: [] }
  }
}
