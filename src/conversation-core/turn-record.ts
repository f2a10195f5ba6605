// The record of a turn of document 003: which messages it has, and the calls of the provider. It is stored as a turn of
// its own that only its author sees, so that it is in no context, summary or list of messages. It refers to messages by
// id, so that it keeps no text that was erased. Pure.

import type { GivenTurn, StoredTurn } from '../transcript/transcript.ts'
import type { ConversationMessage, ConversationTurn, ProviderCallRecord } from './types.ts'

/** Author and only reader of the records. */
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

/** Returns the turn that stores the record. */
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

/** Returns the turn of a record, with the messages that still exist; null for another turn. */
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
