// Converts turns of document 003 to records and back. A record contains the ids of the turn's messages and its provider
// calls. It is stored as a separate turn that only its author sees, so that no context, summary or list of messages
// includes it. It contains no text of messages, which may be erased later, except in `raw` of a provider call. Pure.

import type { GivenTurn, StoredTurn } from '../transcript/transcript.ts'
import type { ConversationMessage, ConversationTurn, ProviderCallRecord } from './types.ts'

/** The actor who writes the records. It is the only participant who sees them. */
export const RECORDS_ACTOR = 'turn-records'

type Dated<T> = Omit<T, 'createdAt'> & { createdAt: string }
type TurnRecord = Dated<Pick<ConversationTurn, 'id' | 'metadata'>> & {
  type: 'turn'
  userMessages: string[]
  assistantMessages: string[]
  toolMessages?: string[]
  providerCalls: Dated<ProviderCallRecord>[]
} & { createdAt: string }

const idsOf = (messages: readonly ConversationMessage[]) => messages.map(({ id }) => id)
const isoOf = (date: Date) => date.toISOString()

/** Returns the record of a turn, as a turn to append. */
export function toRecord(turn: ConversationTurn): GivenTurn {
  const record: TurnRecord = {
    type: 'turn',
    id: turn.id,
    createdAt: isoOf(turn.createdAt),
    userMessages: idsOf(turn.userMessages),
    assistantMessages: idsOf(turn.assistantMessages),
    ...(turn.toolMessages && { toolMessages: idsOf(turn.toolMessages) }),
    providerCalls: turn.providerCalls.map((call) => ({ ...call, createdAt: isoOf(call.createdAt) })),
    ...(turn.metadata && { metadata: turn.metadata }),
  }
  return {
    actor: RECORDS_ACTOR,
    role: 'TOOL',
    clientId: turn.id,
    audience: [RECORDS_ACTOR],
    parts: [{ data: record }],
    metadata: {},
  }
}

/** Converts a stored record to its turn, with the messages that still exist; null if the stored turn is no record. */
export function fromRecord(
  conversationId: string,
  { actor, parts }: StoredTurn,
  messages: ReadonlyMap<string, ConversationMessage>,
): ConversationTurn | null {
  const [part] = parts
  if (actor !== RECORDS_ACTOR || part?.type !== 'data') return null
  const record = part.data as TurnRecord
  const found = (ids: readonly string[]) => ids.flatMap((id) => messages.get(id) ?? [])
  return {
    id: record.id,
    conversationId,
    createdAt: new Date(record.createdAt),
    userMessages: found(record.userMessages),
    assistantMessages: found(record.assistantMessages),
    ...(record.toolMessages && { toolMessages: found(record.toolMessages) }),
    providerCalls: record.providerCalls.map((call) => ({ ...call, createdAt: new Date(call.createdAt) })),
    ...(record.metadata && { metadata: record.metadata }),
  }
}
