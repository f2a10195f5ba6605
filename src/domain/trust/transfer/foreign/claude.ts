// Claude's `conversations.json`: a list of conversations with their messages in order.

import type { ContentPart } from '../../../turn/content.ts'
import {
  listOf,
  objectOf,
  textOf,
  timeOf,
  type Converter,
  type ConverterOptions,
  type ForeignTurn,
  type Json,
  type Unfit,
} from './foreign.ts'

const AGENT = 'claude'

/** Returns the part of a content block; null for a block that is not known. */
function partOf(block: Json, unfit: Unfit): ContentPart | null {
  switch (block?.type) {
    case 'text':
      return { type: 'text', text: textOf(block.text) }
    case 'thinking':
      return { type: 'reasoning', reasoning: textOf(block.thinking) }
    case 'tool_use':
      return {
        type: 'toolCall',
        callId: textOf(block.id) || 'call',
        name: textOf(block.name) || 'tool',
        arguments: block.input ?? null,
      }
    case 'tool_result':
      return {
        type: 'toolResult',
        callId: textOf(block.tool_use_id) || 'call',
        name: textOf(block.name) || 'tool',
        result: block.content ?? null,
      }
    default:
      unfit(`content blocks of the type ${textOf(block?.type) || 'unknown'}`)
      return null
  }
}

/** Returns the parts of attached files whose text the export contains. */
function attachmentsOf({ attachments, files }: Json, unfit: Unfit): ContentPart[] {
  const withText = listOf(attachments).filter((each) => textOf(each?.extracted_content) !== '')
  const without = listOf(attachments).length - withText.length + listOf(files).length
  if (without > 0) unfit('attached files without text', without)
  return withText.map(({ file_name: fileName, extracted_content: text }) => ({
    type: 'data',
    data: { fileName: textOf(fileName), text: textOf(text) },
  }))
}

/** Ids of tool calls are unique within a turn; a repeated one is numbered. */
function withUniqueCalls(parts: ContentPart[]): ContentPart[] {
  const seen = new Map<string, number>()
  return parts.map((part) => {
    if (part.type !== 'toolCall') return part
    const count = (seen.get(part.callId) ?? 0) + 1
    seen.set(part.callId, count)
    return count === 1 ? part : { ...part, callId: `${part.callId}-${count}` }
  })
}

function turnOf(message: Json, { owner, unfit }: ConverterOptions): ForeignTurn {
  const isHuman = message.sender === 'human' || message.sender === 'user'
  const blocks = listOf(message.content).flatMap((block) => partOf(block, unfit) ?? [])
  const own: ContentPart[] = blocks.length > 0 ? blocks : [{ type: 'text', text: textOf(message.text) }]
  const parts = withUniqueCalls([...own, ...attachmentsOf(message, unfit)])
  return {
    id: textOf(message.uuid),
    actor: isHuman ? owner : AGENT,
    role: isHuman ? 'USER' : 'ASSISTANT',
    content: parts.filter((part) => part.type !== 'text' || part.text !== ''),
    createdAt: timeOf(message.created_at),
  }
}

export function createClaude(options: ConverterOptions): Converter {
  return {
    convert(element) {
      const { uuid, name, created_at: at, chat_messages: messages } = objectOf(element, 'Claude', 'chat_messages')
      const participants = [{ actor: AGENT, kind: 'AGENT' as const, displayName: 'Claude' }]
      const turns = listOf(messages).map((message) => turnOf(message as Json, options))
      return { conversations: [{ id: textOf(uuid), title: textOf(name), createdAt: timeOf(at), participants, turns }] }
    },
  }
}
