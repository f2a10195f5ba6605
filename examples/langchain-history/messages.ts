// Converts LangChain's messages to those of colloquy/conversation-core and back: texts, tool calls and tool results.
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import type { ConversationMessage, MessageContentPart, ToolCallContentPart } from 'colloquy/conversation-core'

const ROLES: Record<string, ConversationMessage['role']> = { human: 'user', ai: 'assistant', system: 'system' }
export const toStored = (conversationId: string, message: BaseMessage): ConversationMessage => ({
  id: (message.id ??= crypto.randomUUID()),
  conversationId,
  role: ROLES[message.type] ?? 'tool',
  createdAt: new Date(),
  content: toContent(message),
})

function toContent(message: BaseMessage): MessageContentPart[] {
  const { text, name = '' } = message
  if (ToolMessage.isInstance(message)) return [{ type: 'tool-result', id: message.tool_call_id, name, result: text }]
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, name, args }) => ({ type: 'tool-call' as const, ...(id && { id }), name, arguments: args })),
  ]
}

export function toMessages({ id, role, content }: ConversationMessage): BaseMessage[] {
  const texts = content.flatMap((part) => (part.type === 'text' ? part.text : []))
  const calls = content.filter(({ type }) => type === 'tool-call') as ToolCallContentPart[]
  const tool_calls = calls.map(({ id, name, arguments: args }) => ({ id, name, args: args as object }))
  const fields = { id, content: texts.join('') }
  if (role === 'assistant') return [new AIMessage({ ...fields, tool_calls })]
  if (role !== 'tool') return [role === 'user' ? new HumanMessage(fields) : new SystemMessage(fields)]
  return content.flatMap((part) => {
    if (part.type !== 'tool-result') return []
    const text = typeof part.result === 'string' ? part.result : JSON.stringify(part.result)
    return [new ToolMessage({ id, tool_call_id: part.id ?? '', name: part.name, content: text })]
  })
}
