// Converts messages of a conversation to those of a provider, and a provider's reply back. Pure.
//
// Invariant, required by providers: each tool call is followed by its result. A result that came later moves to its
// call, a call without a result gets a placeholder, and a result without a call is left out.

import type { ProviderContentPart, ProviderMessage, ProviderToolCall } from '../providers/ports/provider-adapter.ts'
import { pairToolResults } from './tool-pairs.ts'
import type { ConversationMessage, MessageContentPart, ToolCallContentPart, ToolResultContentPart } from './types.ts'

/** The result of a call that was not answered. */
const NO_RESULT = 'There is no result: the call was not answered.'

/** Returns the messages for a provider. Metadata parts, and messages without other parts, are left out. */
export function toProviderMessages(messages: readonly ConversationMessage[]): ProviderMessage[] {
  const results = new Map<ToolCallContentPart, ToolResultContentPart>()
  for (const { call, result } of pairToolResults(messages)) results.set(call, result)
  let made = 0
  return messages.flatMap(({ role, content }): ProviderMessage[] => {
    const parts: ProviderContentPart[] = []
    const answers: ProviderContentPart[] = []
    for (const part of content) {
      if (part.type === 'text' && part.text !== '') parts.push({ type: 'text', text: part.text })
      if (part.type !== 'tool-call') continue
      made += 1
      const { id = `call_${made}`, name } = part
      parts.push({ type: 'tool-call', id, name, arguments: part.arguments })
      const result = results.get(part)
      answers.push({ type: 'tool-result', id, name, result: result ? result.result : NO_RESULT })
    }
    if (parts.length === 0) return []
    if (answers.length > 0) {
      return [
        { role: 'assistant', content: parts },
        { role: 'tool', content: answers },
      ]
    }
    // Providers reject a tool message without results, so a tool's text becomes a user message.
    return [{ role: role === 'tool' ? 'user' : role, content: parts }]
  })
}

/** Returns the parts of a provider's message as content. Parts of other types become metadata. */
export function toContent(parts: readonly ProviderContentPart[]): MessageContentPart[] {
  return parts.map((part): MessageContentPart => {
    const { type, id, name } = part as { type?: unknown; id?: string; name: string }
    if (type === 'text') return { type: 'text', text: String((part as { text: unknown }).text) }
    if (type === 'tool-call') return toolCallPart(part as ProviderToolCall)
    if (type === 'tool-result') {
      return {
        type: 'tool-result',
        ...(id !== undefined && { id }),
        name,
        result: (part as { result: unknown }).result,
      }
    }
    return { type: 'metadata', data: part }
  })
}

export const toolCallPart = ({ id, name, arguments: given }: ProviderToolCall): ToolCallContentPart => ({
  type: 'tool-call',
  ...(id !== undefined && { id }),
  name,
  arguments: given,
})

/**
 * Returns the content of a reply: the parts of the message, then the tool calls that the message does not contain.
 * Empty texts are left out.
 */
export function contentOfReply(
  message: ProviderMessage,
  toolCalls: readonly ProviderToolCall[] = [],
): MessageContentPart[] {
  const content = toContent(message.content).filter((part) => part.type !== 'text' || part.text !== '')
  const contained = new Set(content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])))
  return [...content, ...toolCalls.filter(({ id }) => !contained.has(id)).map(toolCallPart)]
}
