// Converts messages of document 003 to turns and back. Pure.

import { blankPart, headOf, metadataOf, textsOfBlank } from '../transcript/stored-message.ts'
import type { GivenPart, GivenTurn, StoredPart, StoredTurn, TurnRole } from '../transcript/transcript.ts'
import type {
  ConversationMessage,
  MessageContentPart,
  MessageRole,
  TokenUsage,
  ToolResultContentPart,
} from './types.ts'

const TURN_ROLES: Record<MessageRole, TurnRole> = {
  system: 'SYSTEM',
  user: 'USER',
  assistant: 'ASSISTANT',
  tool: 'TOOL',
}

/** Returns the id of a call. The server needs one, so a call without an id gets it from its index in the message. */
export const callIdOf = (messageId: string, part: number, id: string | undefined): string =>
  id ?? `${messageId}#${part}`

/** The call that a result answers. Null if it answers none; then the result is stored as data. */
export type AnsweredCall = { callId: string; name: string } | null

function toPart(part: MessageContentPart, callId: string, answered: AnsweredCall): GivenPart {
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'tool-call':
      return { toolCall: { callId, name: part.name, arguments: part.arguments ?? {} } }
    case 'tool-result':
      return answered ? { toolResult: { ...answered, result: part.result ?? null } } : { data: part }
    case 'metadata':
      return { data: { type: 'metadata', data: part.data } }
  }
}

const countOf = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 0 ? (value as number) : null

/** Returns the model and the token usage in the metadata of a reply, as fields of its turn. */
function fieldsOfReply({ role, metadata }: ConversationMessage): Pick<GivenTurn, 'model' | 'tokenUsage'> {
  if (role !== 'assistant') return {}
  const { model, usage } = (metadata ?? {}) as { model?: unknown; usage?: Partial<TokenUsage> }
  const [prompt, completion] = [countOf(usage?.inputTokens), countOf(usage?.outputTokens)]
  return {
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(prompt !== null && completion !== null && { tokenUsage: { prompt, completion } }),
  }
}

/** Returns the turn of a message. */
export function toTurn(
  message: ConversationMessage,
  actor: string,
  answeredBy: (result: ToolResultContentPart) => AnsweredCall,
): GivenTurn {
  const { id, role, content } = message
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const isBlank = texts.length === content.length && texts.every((text) => text.trim() === '')
  const parts = content.map((part, index) =>
    toPart(
      part,
      callIdOf(id, index, part.type === 'tool-call' ? part.id : undefined),
      part.type === 'tool-result' ? answeredBy(part) : null,
    ),
  )
  return {
    actor,
    role: TURN_ROLES[role],
    clientId: id,
    parts: isBlank ? [blankPart(texts)] : parts,
    metadata: metadataOf(message, message.metadata),
    ...fieldsOfReply(message),
  }
}

function fromData(data: unknown): MessageContentPart[] {
  const texts = textsOfBlank(data)
  if (texts) return texts.map((text) => ({ type: 'text', text }))
  const { type } = (data ?? {}) as { type?: unknown }
  if (type === 'tool-result') return [data as ToolResultContentPart]
  return [{ type: 'metadata', data: type === 'metadata' ? (data as { data?: unknown }).data : data }]
}

function fromPart(part: StoredPart): MessageContentPart[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'toolCall':
      return [{ type: 'tool-call', id: part.callId, name: part.name, arguments: part.arguments }]
    case 'toolResult':
      return [{ type: 'tool-result', id: part.callId, name: part.name, result: part.result }]
    case 'data':
      return fromData(part.data)
    default:
      return [{ type: 'metadata', data: part }]
  }
}

/** Returns the message of a turn. Its calls and results have ids, even if they were written without ids. */
export function toMessage(conversationId: string, turn: StoredTurn): ConversationMessage {
  const { id, createdAt, metadata } = headOf(turn)
  return {
    id,
    conversationId,
    role: turn.role.toLowerCase() as MessageRole,
    createdAt,
    content: turn.parts.flatMap(fromPart),
    ...(metadata && { metadata }),
  }
}
