// Reads the journal of a conversation as events, one page at a time.

import type { Platform } from '../../kernel/platform.ts'
import { JOURNAL_PAGE_BYTES, readJournal, type JournalRow } from '../../../store/sql/turn/journal/read-journal.ts'
import { readParticipants } from '../../../store/sql/conversation/participant/read-participants.ts'
import { toParticipant, type Participant } from '../../conversation/participant/participant.ts'
import type { VisibilityFields } from '../../kernel/view.ts'
import type { JournalEvent } from './event.ts'

const TURN_EVENTS = {
  APPENDED: 'TurnAppended',
  OPENED: 'TurnOpened',
  COMMITTED: 'TurnCommitted',
  ABORTED: 'TurnAborted',
  ERASED: 'TurnErased',
} as const

const CLAIM_EVENTS = { CLAIMED: 'TurnClaimed', CLAIM_RELEASED: 'ClaimReleased' } as const

const PARTICIPANT_EVENTS = {
  JOINED: 'ParticipantJoined',
  LEFT: 'ParticipantLeft',
  UPDATED: 'ParticipantUpdated',
} as const

const APPROVAL_EVENTS = { APPROVAL_REQUESTED: 'ApprovalRequested', APPROVAL_RESOLVED: 'ApprovalResolved' } as const

/** Returns only the fields that determine the visibility, so that an event does not keep the whole turn in memory. */
const visibilityOf = ({ seq, position, audience }: VisibilityFields): VisibilityFields => ({ seq, position, audience })
const RUN_EVENTS = { RUN_STARTED: 'RunStarted', RUN_CHANGED: 'RunChanged' } as const

/** Converts a journal entry to an event; null if an object that the entry names no longer exists. */
function toEvent(conversationId: string, row: JournalRow, participants: Map<string, Participant>): JournalEvent | null {
  const common = { conversationId, seq: row.seq, at: row.at }
  switch (row.kind) {
    case 'APPENDED':
    case 'OPENED':
    case 'COMMITTED':
    case 'ABORTED':
    case 'ERASED':
      return row.turn && { ...common, type: TURN_EVENTS[row.kind], turn: row.turn }
    case 'WAKE_UPS_STOPPED':
      return row.turn && { ...common, type: 'WakeUpsStopped', turn: row.turn }
    case 'SUPERSEDED':
      return row.turn && { ...common, type: 'TurnSuperseded', turn: row.replaced ?? row.turn, by: row.turn }
    case 'JOINED':
    case 'LEFT':
    case 'UPDATED': {
      if (row.turn) return { ...common, type: 'TurnUpdated', turn: row.turn }
      if (row.actor === null) return { ...common, type: 'ConversationUpdated' }
      const participant = participants.get(row.actor)
      return participant ? { ...common, type: PARTICIPANT_EVENTS[row.kind], participant } : null
    }
    case 'CLAIMED':
    case 'CLAIM_RELEASED': {
      const participant = participants.get(row.actor!)
      return row.turn && participant ? { ...common, type: CLAIM_EVENTS[row.kind], turn: row.turn, participant } : null
    }
    case 'SUMMARIZED':
      return row.summary && { ...common, type: 'SummaryWritten', summary: row.summary }
    case 'FACTS_CHANGED':
      return { ...common, type: 'FactsChanged', facts: row.facts }
    case 'APPROVAL_REQUESTED':
    case 'APPROVAL_RESOLVED': {
      const { turn, approval } = row
      return turn && approval && { ...common, type: APPROVAL_EVENTS[row.kind], approval, of: visibilityOf(turn) }
    }
    case 'SHARED_STATE_CHANGED': {
      if (row.change === null) return null
      const { key, version, deleted, patch, actor, audience } = row.change
      return { ...common, type: 'SharedStateChanged', key, version, deleted, patch, actor, audience }
    }
    case 'RUN_STARTED':
    case 'RUN_CHANGED':
      return row.run && { ...common, type: RUN_EVENTS[row.kind], run: row.run }
  }
}

/** Events of one page of the journal. */
export type JournalPage = {
  events: JournalEvent[]
  /** Seq of the last entry read; `after` for an empty page. */
  last: number
  /** True if the page certainly reaches the journal's end; false if it may not. */
  reachesEnd: boolean
  /**
   * Approximate size of the page, in bytes. If `limit` is at most SMALL_PAGE, it is not measured: each entry counts as
   * an equal share of JOURNAL_PAGE_BYTES.
   */
  bytes: number
}

/**
 * Reads the next entries after `after`, as events: at most `limit` entries and, if `limit` exceeds SMALL_PAGE, at most
 * about JOURNAL_PAGE_BYTES.
 */
export async function readEvents(
  { pool }: Pick<Platform, 'pool'>,
  tenant: string,
  conversationId: string,
  { after, limit }: { after: number; limit: number },
): Promise<JournalPage> {
  const rows = await readJournal(pool, tenant, conversationId, { after, limit })
  const actors = [...new Set(rows.flatMap((row) => row.actor ?? []))]
  const participants = actors.length
    ? await readParticipants(pool, { tenant, actor: null }, [conversationId], actors)
    : []
  const byActor = new Map(participants.map((row) => [row.actor, toParticipant(row)]))
  const bytes = rows.at(-1)?.pageBytes ?? 0
  return {
    events: rows.flatMap((row) => toEvent(conversationId, row, byActor) ?? []),
    last: rows.at(-1)?.seq ?? after,
    reachesEnd: rows.length < limit && bytes < JOURNAL_PAGE_BYTES,
    bytes,
  }
}
