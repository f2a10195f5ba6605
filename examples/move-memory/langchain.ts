// The turns of a chat message history of LangChain: texts, tool calls and tool results.
import type { BaseListChatMessageHistory } from '@langchain/core/chat_history'
import { AIMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import type { MovedTurn, Thread } from './move.ts'

const ROLES: Record<string, MovedTurn['role']> = { human: 'USER', ai: 'ASSISTANT', system: 'SYSTEM', tool: 'TOOL' }

function partsOf(message: BaseMessage): MovedTurn['parts'] {
  const { text, name = '' } = message
  if (ToolMessage.isInstance(message)) return [{ toolResult: { callId: message.tool_call_id, name, result: text } }]
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []
  return [
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id = '', name, args }) => ({ toolCall: { callId: id, name, arguments: args } })),
  ]
}

export async function fromLangChain(
  history: BaseListChatMessageHistory,
  { key, user, agent }: Omit<Thread, 'turns'>,
): Promise<Thread> {
  const messages = await history.getMessages()
  const turns = messages.map((message, index) => ({
    clientId: `langchain:${index}`,
    actor: message.type === 'human' ? user : agent,
    role: ROLES[message.type] ?? 'USER',
    parts: partsOf(message),
  }))
  return { key, user, agent, turns }
}
