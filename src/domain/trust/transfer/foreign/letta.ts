// Letta's agent files (`.af`): one agent, or a list of agents with the memory blocks that they share. The messages of an
// agent become a conversation, and its memory blocks facts.

import type { ContentPart } from '../../../turn/content.ts'
import { BadLine } from '../format.ts'
import {
  isObject,
  jsonOf,
  listOf,
  textOf,
  timeOf,
  type Converter,
  type ConverterOptions,
  type ForeignConversation,
  type ForeignFact,
  type ForeignTurn,
  type Json,
} from './foreign.ts'

function textIn({ content, text }: Json, options: ConverterOptions): string {
  if (typeof content === 'string') return content
  const texts = listOf(content).flatMap((part) => {
    if (part?.type === 'text') return [textOf(part.text)]
    options.unfit(`content parts of the type ${textOf(part?.type) || 'unknown'}`)
    return []
  })
  return texts.length > 0 ? texts.join('\n') : textOf(text)
}

/** Returns the calls of a message, in the form of OpenAI's API. */
const callsOf = ({ tool_calls: calls }: Json): ContentPart[] =>
  listOf(calls).map((call) => ({
    type: 'toolCall',
    callId: textOf(call?.id) || 'call',
    name: textOf(call?.function?.name) || textOf(call?.name) || 'tool',
    arguments: jsonOf(call?.function?.arguments ?? call?.arguments),
  }))

function turnOf(message: Json, agent: string, options: ConverterOptions): ForeignTurn | null {
  const { id, role, created_at: at, model, tool_call_id: callId, name } = message
  const text = textIn(message, options)
  const shared = { id: textOf(id), createdAt: timeOf(at) }
  switch (role) {
    case 'user':
      return { ...shared, actor: options.owner, role: 'USER', content: text }
    case 'assistant': {
      const calls = callsOf(message)
      const content: ContentPart[] = [...(text ? [{ type: 'text' as const, text }] : []), ...calls]
      return {
        ...shared,
        actor: agent,
        role: 'ASSISTANT',
        content: calls.length > 0 ? content : text,
        model: textOf(model) || undefined,
      }
    }
    case 'tool': {
      const toolName = textOf(name) || 'tool'
      const content: ContentPart[] = [
        { type: 'toolResult', callId: textOf(callId) || 'call', name: toolName, result: jsonOf(text) },
      ]
      return { ...shared, actor: toolName, role: 'TOOL', content }
    }
    case 'system':
      // The agent's instructions, which the conversation has as its system prompt.
      options.unfit('system messages')
      return null
    default:
      options.unfit(`messages with the role ${textOf(role) || 'unknown'}`)
      return null
  }
}

function conversationOf(agent: Json, number: number, options: ConverterOptions): ForeignConversation {
  const { id, name, system, messages, created_at: at } = agent
  const actor = textOf(name) || 'letta'
  const turns = listOf(messages).flatMap((message: Json, index) => {
    const turn = turnOf(message, actor, options)
    return turn ? [{ ...turn, id: turn.id || `${index}` }] : []
  })
  for (const [field, label] of [
    ['tools', 'tools'],
    ['sources', 'data sources'],
  ] as const) {
    options.unfit(label, listOf(agent[field]).length)
  }
  const participants = [{ actor, kind: 'AGENT' as const }]
  const conversationId = textOf(id) || `${actor} ${number}`
  return { id: conversationId, title: actor, createdAt: timeOf(at), systemPrompt: textOf(system), participants, turns }
}

function factOf(block: Json, agentId: string, { owner }: ConverterOptions): ForeignFact {
  const { id, label, value, updated_at: at, created_at: created } = block
  const name = textOf(label) || 'memory'
  const shared = { id: `${agentId} ${textOf(id) || name}`, createdAt: timeOf(at) ?? timeOf(created) }
  const isAboutOwner = name === 'human'
  return {
    ...shared,
    userId: isAboutOwner ? owner : null,
    subject: isAboutOwner ? owner : agentId,
    predicate: `has memory block ${name}`,
    object: textOf(value),
  }
}

export function createLetta(options: ConverterOptions): Converter {
  return {
    convert(element) {
      const file: Json = isObject(element) ? element : {}
      const agents = Array.isArray(file.agents) ? file.agents.filter(isObject) : 'messages' in file ? [file] : null
      if (!agents) throw new BadLine('is not a Letta agent file: it has neither "agents" nor "messages"')
      const blocks = new Map(listOf(file.blocks).map((block) => [block?.id, block as Json]))
      const conversations = agents.map((agent, index) => conversationOf(agent, index, options))
      const facts = agents.flatMap((agent, index) => {
        const own = [...listOf(agent.core_memory), ...listOf(agent.block_ids).flatMap((id) => blocks.get(id) ?? [])]
        return own.map((block) => factOf(block as Json, conversations[index]!.id, options))
      })
      return { conversations, facts }
    },
  }
}
