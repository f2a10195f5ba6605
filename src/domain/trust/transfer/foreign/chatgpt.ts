// ChatGPT's `conversations.json`: a list of conversations, each with a tree of messages. The branch that ends with
// `current_node` is imported; other branches are earlier versions of edited messages.

import type { ContentPart } from '../../../turn/content.ts'
import {
  isObject,
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

const AGENT = 'chatgpt'

/** Returns the nodes from the root to the current one. */
function branchOf(mapping: Json, current: unknown): Json[] {
  const branch: Json[] = []
  const seen = new Set<unknown>()
  for (let id = current; typeof id === 'string' && !seen.has(id) && isObject(mapping[id]); id = mapping[id].parent) {
    seen.add(id)
    branch.unshift(mapping[id])
  }
  return branch
}

/** Returns the content of a message; null for one that is not shown, or of a type that is not known. */
function contentOf({ content, metadata }: Json, unfit: Unfit): string | ContentPart[] | null {
  if (!isObject(content)) return null
  const { content_type: type } = content
  if (metadata?.is_visually_hidden_from_conversation) {
    unfit('hidden messages')
    return null
  }
  const parts = listOf(content.parts)
  switch (type) {
    case 'text':
      return parts.map(textOf).join('\n')
    case 'multimodal_text': {
      const others = parts.filter((part) => typeof part !== 'string' && textOf(part?.text) === '')
      if (others.length > 0) unfit('images, sound and files', others.length)
      return parts.map((part) => textOf(part) || textOf(part?.text)).join('\n')
    }
    case 'code':
    case 'execution_output':
    case 'tether_quote':
    case 'system_error':
      return textOf(content.text)
    case 'tether_browsing_display':
      return textOf(content.result)
    case 'thoughts': {
      const reasoning = listOf(content.thoughts)
        .map((each) => textOf(each?.content))
        .join('\n')
      return reasoning === '' ? null : [{ type: 'reasoning', reasoning }]
    }
    default:
      unfit(`messages with the content type ${textOf(type) || 'unknown'}`)
      return null
  }
}

function turnOf({ id, message }: Json, { owner, unfit }: ConverterOptions): ForeignTurn | null {
  const { author, create_time: time, metadata } = message as Json
  const content = contentOf(message as Json, unfit)
  if (content === null || content === '') return null
  const role = textOf(author?.role)
  const shared = { id: textOf(message.id) || textOf(id), content, createdAt: timeOf(time) }
  if (role === 'user') return { ...shared, actor: owner, role: 'USER' }
  if (role === 'assistant')
    return { ...shared, actor: AGENT, role: 'ASSISTANT', model: textOf(metadata?.model_slug) || undefined }
  if (role === 'tool') return { ...shared, actor: textOf(author?.name) || 'tool', role: 'TOOL' }
  unfit(`messages with the role ${role || 'unknown'}`)
  return null
}

export function createChatGpt(options: ConverterOptions): Converter {
  return {
    convert(element) {
      const {
        id,
        conversation_id: other,
        title,
        create_time: time,
        mapping,
        current_node: current,
      } = objectOf(element, 'ChatGPT', 'mapping')
      const nodes = isObject(mapping) ? mapping : {}
      const branch = branchOf(nodes, current)
      const messages = branch.filter(({ message }) => isObject(message))
      const all = Object.values(nodes).filter((node) => isObject(node) && isObject(node.message))
      if (all.length > messages.length) options.unfit('messages of other branches', all.length - messages.length)
      const turns = messages.flatMap((node) => turnOf(node, options) ?? [])
      const participants = [{ actor: AGENT, kind: 'AGENT' as const, displayName: 'ChatGPT' }]
      const conversationId = textOf(other) || textOf(id)
      return {
        conversations: [{ id: conversationId, title: textOf(title), createdAt: timeOf(time), participants, turns }],
      }
    },
  }
}
