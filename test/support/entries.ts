// Creates turns, participants and journal events of one conversation, for tests without a database.

import type { JournalEvent, TurnEvent } from '../../src/domain/turn/journal/event.ts'
import type { ParticipantRow } from '../../src/store/sql/conversation/participant/read-participants.ts'
import type { TurnRow } from '../../src/store/sql/turn/turn-columns.ts'

export const CONVERSATION = 'conv_1'
export const AT = new Date('2026-01-01T00:00:00Z')

/** A turn created by entry `seq`, by default committed and without audience. */
export const turnRow = (id: string, seq: number, more: Partial<TurnRow> = {}): TurnRow => ({
  id,
  conversationId: CONVERSATION,
  seq,
  position: seq,
  actor: 'ann',
  role: 'ASSISTANT',
  status: 'COMMITTED',
  text: '',
  parts: null,
  audience: null,
  mentions: null,
  tokenCount: 0,
  promptTokens: null,
  completionTokens: null,
  model: null,
  adapter: null,
  traceId: null,
  contextId: null,
  removedAt: null,
  contentHash: null,
  citations: null,
  pinned: false,
  metadata: null,
  replyToId: null,
  supersededBy: null,
  abortReason: null,
  createdAt: AT,
  importedAt: null,
  ...more,
})

/** A participant who sees every turn without audience, unless `more` changes it. */
export const participantRow = (actor: string, more: Partial<ParticipantRow> = {}): ParticipantRow => ({
  conversationId: CONVERSATION,
  actor,
  kind: 'HUMAN',
  displayName: null,
  historyVisibility: 'ALL',
  administrator: false,
  joinedAt: AT,
  leftAt: null,
  lastReadSeq: 0,
  windows: [1],
  addressed: false,
  respond: 'NEVER',
  ...more,
})

/** Returns the event of entry `seq` about the turn. */
export const entry = (type: TurnEvent['type'], seq: number, turn: TurnRow): TurnEvent => ({
  type,
  conversationId: CONVERSATION,
  seq,
  at: AT,
  turn,
})

/** Returns the event of the entry that wrote the newer version `by` of a turn. */
export const superseded = (turn: TurnRow, by: TurnRow): JournalEvent => ({
  type: 'TurnSuperseded',
  conversationId: CONVERSATION,
  seq: by.seq,
  at: AT,
  turn,
  by,
})

export const joined = (seq: number, actor: string): JournalEvent => ({
  type: 'ParticipantJoined',
  conversationId: CONVERSATION,
  seq,
  at: AT,
  participant: participantRow(actor),
})
