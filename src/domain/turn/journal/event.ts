// The events of a conversation and their visibility. Journal events have the seq of their entry and are delivered in
// this order; ephemeral events have no seq and are not stored. An event contains the current state of the objects it
// names. All subscriptions of a process share the event objects; `projectEvent` removes data that viewers must not see.

import type { ApprovalRow } from '../../../store/sql/agent/approval/read-approvals.ts'
import type { PresenceState } from '../../kernel/live/publisher.ts'
import type { FactVisibility } from '../../../store/sql/turn/journal/read-journal.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import type { SummaryRow } from '../../../store/sql/memory/summary/read-summaries.ts'
import type { OpenPart } from '../../../store/sql/turn/streaming/open-content.ts'
import type { TurnRow } from '../../../store/sql/turn/turn-columns.ts'
import type { Participant } from '../../conversation/participant/participant.ts'
import type { VisibilityFields, View } from '../../kernel/view.ts'
import { isInAudience, isOpenAt, sees, seesAllOf, seesConversation } from '../../kernel/view.ts'
import { toRun, type Run } from '../../agent/definition/visible.ts'

type Common = { conversationId: string; at: Date }

export type TurnEvent = Common & {
  type: 'TurnAppended' | 'TurnOpened' | 'TurnCommitted' | 'TurnAborted' | 'TurnErased'
  seq: number
  turn: TurnRow
}
/**
 * `turn` is the version that was replaced; if it no longer exists, the new version. `by` is open while it is
 * streamed: its text follows.
 */
export type TurnSuperseded = Common & { type: 'TurnSuperseded'; seq: number; turn: TurnRow; by: TurnRow }
/** `turn` is the version that was the newest one at the update. */
export type TurnUpdated = Common & { type: 'TurnUpdated'; seq: number; turn: TurnRow }
/** `turn` is the first version. `participant` is the one whose claim began or ended. */
export type ClaimEvent = Common & {
  type: 'TurnClaimed' | 'ClaimReleased'
  seq: number
  turn: TurnRow
  participant: Participant
}
export type ParticipantEvent = Common & {
  type: 'ParticipantJoined' | 'ParticipantLeft' | 'ParticipantUpdated'
  seq: number
  participant: Participant
}
export type ConversationUpdated = Common & { type: 'ConversationUpdated'; seq: number }
/** The turn woke up no participants because of the loop guard (`maxAgentTurns`). */
export type WakeUpsStopped = Common & { type: 'WakeUpsStopped'; seq: number; turn: TurnRow }
/** The summary may have been replaced after the event. */
export type SummaryWritten = Common & { type: 'SummaryWritten'; seq: number; summary: SummaryRow }
/** `projectEvent` removes the facts that are not in view. */
export type FactsChanged = Common & { type: 'FactsChanged'; seq: number; facts: FactVisibility[] }
/** `of` has the fields of the turn with the tool call. They determine the visibility of the approval. */
export type ApprovalEvent = Common & {
  type: 'ApprovalRequested' | 'ApprovalResolved'
  seq: number
  approval: ApprovalRow
  of: VisibilityFields
}
/** `run` has its current state; `projectEvent` removes the fields that only the engine needs. */
export type RunEvent = Common & { type: 'RunStarted' | 'RunChanged'; seq: number; run: RunRow }
/**
 * The state of a key was created, changed or deleted. `patch` are the operations from the version before; null if they
 * are not kept. `audience` determines the visibility.
 */
export type SharedStateChanged = Common & {
  type: 'SharedStateChanged'
  seq: number
  key: string
  version: number
  deleted: boolean
  patch: unknown[] | null
  actor: string
  audience: readonly string[] | null
}
export type JournalEvent =
  | TurnEvent
  | TurnSuperseded
  | TurnUpdated
  | ClaimEvent
  | WakeUpsStopped
  | ParticipantEvent
  | ConversationUpdated
  | SummaryWritten
  | FactsChanged
  | ApprovalEvent
  | RunEvent
  | SharedStateChanged

/** Returns the turn that the entry opened, if it is still open: a new turn, or a newer version of one; otherwise null. */
export function openedBy(event: JournalEvent): TurnRow | null {
  const opened = event.type === 'TurnOpened' ? event.turn : event.type === 'TurnSuperseded' ? event.by : null
  return opened?.status === 'STREAMING' ? opened : null
}

/** Text of an open turn: UTF-16 offsets [start, end). `of` has the fields of the turn that determine its visibility. */
export type TurnDelta = Common & {
  type: 'TurnDelta'
  seq: null
  turnId: string
  start: number
  end: number
  text: string
  of: VisibilityFields
}
/**
 * A part of an open turn was opened, completed, or has more text: UTF-16 offsets [start, end of `part.text`). `of` has
 * the fields of the turn that determine its visibility.
 */
export type TurnPartDelta = Common & {
  type: 'TurnPartDelta'
  seq: null
  turnId: string
  part: OpenPart
  start: number
  of: VisibilityFields
}
export type ParticipantRead = Common & { type: 'ParticipantRead'; seq: null; participant: Participant }
export type PresenceChanged = Common & {
  type: 'PresenceChanged'
  seq: null
  participant: Participant
  state: PresenceState
}
/** The last event: the subscription completes after it. */
export type ConversationDeleted = Common & { type: 'ConversationDeleted'; seq: null }
/** Entries up to `resumeAfterSeq` were skipped. A client can read them from the history; later events follow. */
export type Gap = Common & { type: 'Gap'; seq: null; resumeAfterSeq: number }
type EphemeralEvent = TurnDelta | TurnPartDelta | ParticipantRead | PresenceChanged | ConversationDeleted | Gap

export type ConversationEvent = JournalEvent | EphemeralEvent

/** The event types that a reader may select. Every reader also receives ConversationDeleted and Gap. */
export const EVENT_TYPES = [
  'TurnAppended',
  'TurnOpened',
  'TurnDelta',
  'TurnPartDelta',
  'TurnCommitted',
  'TurnAborted',
  'TurnSuperseded',
  'TurnUpdated',
  'TurnErased',
  'TurnClaimed',
  'ClaimReleased',
  'WakeUpsStopped',
  'ParticipantJoined',
  'ParticipantLeft',
  'ParticipantUpdated',
  'ParticipantRead',
  'PresenceChanged',
  'ConversationUpdated',
  'SummaryWritten',
  'FactsChanged',
  'ApprovalRequested',
  'ApprovalResolved',
  'RunStarted',
  'RunChanged',
  'SharedStateChanged',
] as const satisfies readonly ConversationEvent['type'][]
export type EventType = (typeof EVENT_TYPES)[number]

/**
 * `turn` is null if the view does not contain the version directly before `by` (see getPreviousVersions). If that
 * version no longer exists, `turn` is `by`.
 */
export type VisibleSuperseded = Omit<TurnSuperseded, 'turn'> & { turn: TurnRow | null }
/**
 * `turn` is null if the view contains only versions older than `newestId` (see getPreviousVersions).
 */
export type VisibleTurnUpdated = Omit<TurnUpdated, 'turn'> & { turn: TurnRow | null; newestId: string }
export type VisibleSummary = Omit<SummaryWritten, 'summary'> & { summary: Omit<SummaryRow, 'newestSeq' | 'turns'> }
/** `factIds` are the facts that were in view when the event was read. */
export type VisibleFacts = Omit<FactsChanged, 'facts'> & { factIds: string[] }
export type VisibleRun = Omit<RunEvent, 'run'> & { run: Run }
export type VisibleDelta = Omit<TurnDelta, 'of'>
export type VisiblePartDelta = Omit<TurnPartDelta, 'of'>
export type VisibleStateChange = Omit<SharedStateChanged, 'audience'>
export type VisibleApproval = Omit<ApprovalEvent, 'of'>

/** An event as a viewer receives it: only objects in view, without the fields that determine visibility. */
export type VisibleEvent =
  | TurnEvent
  | ClaimEvent
  | WakeUpsStopped
  | ParticipantEvent
  | ConversationUpdated
  | ParticipantRead
  | PresenceChanged
  | ConversationDeleted
  | Gap
  | VisibleSuperseded
  | VisibleTurnUpdated
  | VisibleSummary
  | VisibleFacts
  | VisibleRun
  | VisibleDelta
  | VisiblePartDelta
  | VisibleApproval
  | VisibleStateChange

/**
 * Whether a viewer with that view receives the deltas of a streaming turn: the view is open now and contains the turn.
 */
export const isTextVisible = (view: View, turn: VisibilityFields) =>
  isOpenAt(view.windows, Infinity) && sees(view, turn)

/**
 * Whether a viewer with that view receives the event. A viewer receives deltas, presence changes and `ParticipantRead`
 * only while the view is open.
 */
export function isVisible(view: View, event: ConversationEvent): boolean {
  switch (event.type) {
    case 'TurnAppended':
    case 'TurnOpened':
    case 'TurnCommitted':
    case 'TurnAborted':
    case 'TurnClaimed':
    case 'ClaimReleased':
    case 'WakeUpsStopped':
      return isOpenAt(view.windows, event.seq) && sees(view, event.turn)
    case 'TurnSuperseded':
      return sees(view, event.by)
    case 'TurnErased':
      // Former participants who saw the turn must remove it too, so the view may be closed at the event.
      return sees(view, event.turn)
    case 'TurnUpdated':
      // A viewer that sees any version of a turn sees the first one.
      return isOpenAt(view.windows, event.seq) && sees(view, { ...event.turn, seq: event.turn.position })
    case 'ParticipantJoined':
    case 'ParticipantLeft':
    case 'ParticipantUpdated':
    case 'ConversationUpdated':
      return isOpenAt(view.windows, event.seq)
    case 'SummaryWritten':
      return isOpenAt(view.windows, event.seq) && seesAllOf(view, event.summary)
    case 'FactsChanged':
      return isOpenAt(view.windows, event.seq) && event.facts.some((fact) => sees(view, fact))
    case 'ApprovalRequested':
    case 'ApprovalResolved':
      return isOpenAt(view.windows, event.seq) && sees(view, event.of)
    case 'RunStarted':
    case 'RunChanged': {
      const { seq, audience } = event.run
      return isOpenAt(view.windows, event.seq) && seq !== null && sees(view, { seq, position: seq, audience })
    }
    case 'SharedStateChanged':
      return isOpenAt(view.windows, event.seq) && isInAudience(view, event.audience)
    case 'TurnDelta':
    case 'TurnPartDelta':
      return isTextVisible(view, event.of)
    case 'ParticipantRead':
    case 'PresenceChanged':
      return isOpenAt(view.windows, Infinity)
    case 'ConversationDeleted':
    case 'Gap':
      return seesConversation(view)
  }
}

/**
 * Returns the event as a viewer with that view receives it. Call it only if `isVisible`. The results are equal for all
 * views of one viewClass.
 */
export function projectEvent(view: View, event: ConversationEvent): VisibleEvent {
  switch (event.type) {
    case 'TurnSuperseded':
      return sees(view, event.turn) ? event : { ...event, turn: null }
    case 'TurnUpdated':
      return { ...event, turn: sees(view, event.turn) ? event.turn : null, newestId: event.turn.id }
    case 'SummaryWritten': {
      const { newestSeq, turns, ...summary } = event.summary
      return { ...event, summary }
    }
    case 'FactsChanged': {
      const { facts, ...rest } = event
      const visibleIds = facts.filter((fact) => sees(view, fact)).map(({ id }) => id)
      return { ...rest, factIds: [...new Set(visibleIds)] }
    }
    case 'SharedStateChanged': {
      const { audience, ...rest } = event
      return rest
    }
    case 'RunStarted':
    case 'RunChanged':
      return { ...event, run: toRun(event.run) }
    case 'ApprovalRequested':
    case 'ApprovalResolved':
    case 'TurnDelta':
    case 'TurnPartDelta': {
      const { of, ...rest } = event
      return rest
    }
    default:
      return event
  }
}
