// Describes the events of a conversation: their types in plain words, and each event in one line.

import type { FollowedEvent, JoinedPartDelta, Turn } from '../../client/index.ts'
import { countOf, shorten } from '../kit/text.ts'

/** Groups of types that the list can be limited to. */
export type Category = 'turns' | 'participants' | 'runs' | 'memory' | 'conversation'

type Kind = { words: string; category: Category }

const KINDS: Record<string, Kind> = {
  TurnAppended: { words: 'Turn appended', category: 'turns' },
  TurnOpened: { words: 'Streaming turn opened', category: 'turns' },
  TurnDelta: { words: 'Text streamed', category: 'turns' },
  TurnPartDelta: { words: 'Part streamed', category: 'turns' },
  TurnCommitted: { words: 'Streaming turn committed', category: 'turns' },
  TurnAborted: { words: 'Streaming turn aborted', category: 'turns' },
  TurnSuperseded: { words: 'Turn edited', category: 'turns' },
  TurnUpdated: { words: 'Pin changed', category: 'turns' },
  TurnErased: { words: 'Turn erased', category: 'turns' },
  TurnClaimed: { words: 'Answer claimed', category: 'runs' },
  ClaimReleased: { words: 'Claim released', category: 'runs' },
  WakeUpsStopped: { words: 'Loop guard stopped wake-ups', category: 'runs' },
  RunStarted: { words: 'Run started', category: 'runs' },
  RunChanged: { words: 'Run changed', category: 'runs' },
  ApprovalRequested: { words: 'Approval requested', category: 'runs' },
  ApprovalResolved: { words: 'Approval decided', category: 'runs' },
  ParticipantJoined: { words: 'Participant joined', category: 'participants' },
  ParticipantLeft: { words: 'Participant left', category: 'participants' },
  ParticipantUpdated: { words: 'Participant changed', category: 'participants' },
  ParticipantRead: { words: 'Read mark moved', category: 'participants' },
  PresenceChanged: { words: 'Presence changed', category: 'participants' },
  SummaryWritten: { words: 'Summary written', category: 'memory' },
  FactsChanged: { words: 'Facts changed', category: 'memory' },
  SharedStateChanged: { words: 'Shared state changed', category: 'conversation' },
  ConversationUpdated: { words: 'Conversation updated', category: 'conversation' },
  ConversationDeleted: { words: 'Conversation deleted', category: 'conversation' },
  Gap: { words: 'Entries skipped', category: 'conversation' },
}

/** Returns the type of an event in plain words. A later server may send types that are not known here. */
export const wordsOf = (type: string): string => KINDS[type]?.words ?? type

export const categoryOf = (type: string): Category => KINDS[type]?.category ?? 'conversation'

/** Maximum length of a quoted text, in UTF-16 units. */
const MAX_QUOTE = 80

/** Returns the content of a turn in a few words. */
function contentOf(turn: Turn): string {
  if (turn.status === 'ERASED') return 'content erased since'
  if (turn.text !== '') return `“${shorten(turn.text, MAX_QUOTE)}”`
  const [part] = turn.parts
  if (part?.__typename === 'ToolCallPart') return `calls ${part.name}`
  if (part?.__typename === 'ToolResultPart') return `result of ${part.name ?? 'a tool'}`
  if (part?.__typename === 'FilePart') return `file ${part.fileName ?? part.mediaType}`
  if (part?.__typename === 'SourcePart') return `source ${part.title ?? part.url}`
  if (part?.__typename === 'DataPart') return 'JSON data'
  return turn.status === 'STREAMING' ? 'no text yet' : 'no text'
}

/** Returns to whom a turn is limited, or nothing. */
const privacyOf = ({ audience }: Turn): string => (audience ? ` (private, ${countOf(audience.length, 'actor')})` : '')

const lower = (state: string) => state.toLowerCase().replaceAll('_', ' ')

/** Returns what a part of an open turn is, in a few words. */
export function partWordsOf({ type, toolName }: JoinedPartDelta): string {
  switch (type) {
    case 'TOOL_CALL':
      return `calls ${toolName}`
    case 'TOOL_RESULT':
      return `result of ${toolName}`
    case 'TOOL_PROGRESS':
      return 'progress of a tool'
    default:
      return type.toLowerCase()
  }
}

/** Returns who did what in one line. `nameOf`: returns the name to show for an actor. */
export function gistOf(event: FollowedEvent, nameOf: (actor: string) => string): string {
  switch (event.__typename) {
    case 'TurnAppended':
    case 'TurnCommitted':
    case 'TurnOpened':
      return `${nameOf(event.turn.actor)}${privacyOf(event.turn)}: ${contentOf(event.turn)}`
    case 'TurnAborted':
      return `${nameOf(event.turn.actor)}: ${event.turn.abortReason ?? 'no reason given'}`
    case 'TurnSuperseded':
      if (event.by.status === 'STREAMING') return `${nameOf(event.by.actor)} regenerates turn ${event.turn.position}`
      return `${nameOf(event.by.actor)} edited turn ${event.turn.position}: ${contentOf(event.by)}`
    case 'TurnUpdated':
      return `Turn ${event.turn.position} by ${nameOf(event.turn.actor)} is ${event.turn.pinned ? '' : 'not '}pinned`
    case 'TurnErased':
      return `Turn ${event.turn.position} by ${nameOf(event.turn.actor)} has no content any more`
    case 'TurnClaimed':
      return `${nameOf(event.participant.actor)} answers turn ${event.turn.position}`
    case 'ClaimReleased':
      return `${nameOf(event.participant.actor)} no longer claims turn ${event.turn.position}`
    case 'WakeUpsStopped':
      return `After turn ${event.turn.position}: ${countOf(event.limit, 'turn')} by agents in a row`
    case 'RunStarted':
    case 'RunChanged':
      return `${nameOf(event.run.actor)} by ${event.run.provider}, ${lower(event.run.state)}`
    case 'ApprovalRequested':
      return `${event.approval.toolName} waits for a decision`
    case 'ApprovalResolved':
      return `${event.approval.toolName} ${lower(event.approval.state)}${
        event.approval.decidedBy === null ? '' : ` by ${nameOf(event.approval.decidedBy)}`
      }`
    case 'ParticipantJoined':
    case 'ParticipantLeft':
    case 'ParticipantUpdated':
      return `${event.participant.displayName ?? event.participant.actor}, ${lower(event.participant.kind)}`
    case 'ParticipantRead':
      return `${nameOf(event.participant.actor)} read up to entry ${event.participant.lastReadSeq}`
    case 'PresenceChanged':
      return `${nameOf(event.participant.actor)} is ${lower(event.state)}`
    case 'SharedStateChanged':
      return `${nameOf(event.actor)} ${event.deleted ? 'deleted' : 'changed'} “${event.key}”, version ${event.version}`
    case 'ConversationUpdated':
      return `Version ${event.conversation.version}${
        event.conversation.title === null ? '' : `, “${shorten(event.conversation.title, MAX_QUOTE)}”`
      }`
    case 'Gap':
      return `The server skipped entries up to ${event.resumeAfterSeq}, because the page was too far behind`
    default:
      return ''
  }
}
