// Turns as the client's transcripts contain them, for tests of their conversion to messages.

import type { JoinedPartDelta } from '../../src/client/index.ts'
import type { TranscriptTurn } from '../../src/client/conversation/transcript-state.ts'

type Part = TranscriptTurn['parts'][number]

export const text = (value: string): Part => ({ __typename: 'TextPart', text: value })
export const reasoning = (value: string, signature: string | null = null): Part => ({
  __typename: 'ReasoningPart',
  reasoning: value,
  signature,
})
export const call = (callId: string, given: unknown = {}, name = 'look'): Part => ({
  __typename: 'ToolCallPart',
  callId,
  name,
  arguments: given,
})
export const result = (callId: string, callTurnId: string | null, value: unknown): Part => ({
  __typename: 'ToolResultPart',
  callId,
  callTurnId,
  name: 'look',
  result: value,
})

/** Returns a committed reply of `bot`, `turn_POSITION`, with these parts. */
export const turn = (position: number, parts: Part[], more: Partial<TranscriptTurn> = {}): TranscriptTurn =>
  ({
    id: `turn_${position}`,
    seq: position,
    position,
    actor: 'bot',
    author: { displayName: null, kind: 'AGENT' },
    role: 'ASSISTANT',
    status: 'COMMITTED',
    text: parts.map((part) => (part.__typename === 'TextPart' ? part.text : '')).join(''),
    parts,
    audience: null,
    createdAt: '2026-01-01T00:00:00.000Z',
    abortReason: null,
    traceId: null,
    ...more,
  }) as TranscriptTurn

/** Returns a part of an open turn as it was received. */
export const delta = (type: JoinedPartDelta['type'], fields: Partial<JoinedPartDelta>): JoinedPartDelta =>
  ({ type, isComplete: false, callId: null, joined: '', ...fields }) as JoinedPartDelta
