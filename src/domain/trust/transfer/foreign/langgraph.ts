// Checkpoints of LangGraph as JSON: states of threads as the server or `get_state_history` lists them, or checkpoints of
// a saver. The checkpoint of a thread with the most messages becomes its conversation.

import type { ContentPart } from '../../../turn/content.ts'
import { BadLine } from '../format.ts'
import {
  isObject,
  listOf,
  textOf,
  timeOf,
  type Converter,
  type ConverterOptions,
  type ForeignTurn,
  type Json,
} from './foreign.ts'

const AGENT = 'agent'
/** Types of messages, by the last name of their class in the form that LangChain serializes. */
const CLASSES: Readonly<Record<string, string>> = {
  HumanMessage: 'human',
  HumanMessageChunk: 'human',
  AIMessage: 'ai',
  AIMessageChunk: 'ai',
  SystemMessage: 'system',
  ToolMessage: 'tool',
}

/** Returns the fields of a message, which may be in the form that LangChain serializes. */
function fieldsOf(message: Json): Json {
  if (message.lc === undefined || !isObject(message.kwargs))
    return isObject(message.data) ? { type: message.type, ...message.data } : message
  return { ...message.kwargs, type: CLASSES[listOf(message.id).at(-1) as string] ?? 'unknown' }
}

function textIn(content: unknown, { unfit }: ConverterOptions): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .flatMap((part) => {
      if (typeof part === 'string') return [part]
      if (part?.type === 'text') return [textOf(part.text)]
      if (part?.type !== 'tool_use') unfit(`content parts of the type ${textOf(part?.type) || 'unknown'}`)
      return []
    })
    .join('\n')
}

function turnOf(given: Json, index: number, options: ConverterOptions): ForeignTurn | null {
  const { id, type, role, content, name, tool_calls: calls, tool_call_id: callId } = fieldsOf(given)
  const text = textIn(content, options)
  const shared = { id: textOf(id) || `${index}`, createdAt: null }
  switch (textOf(type) || textOf(role)) {
    case 'human':
    case 'user':
      return { ...shared, actor: textOf(name) || options.owner, role: 'USER', content: text }
    case 'ai':
    case 'assistant': {
      const own: ContentPart[] = listOf(calls).map((call) => ({
        type: 'toolCall',
        callId: textOf(call?.id) || 'call',
        name: textOf(call?.name) || 'tool',
        arguments: call?.args ?? null,
      }))
      const parts: ContentPart[] = [...(text ? [{ type: 'text' as const, text }] : []), ...own]
      return { ...shared, actor: textOf(name) || AGENT, role: 'ASSISTANT', content: own.length > 0 ? parts : text }
    }
    case 'tool': {
      const toolName = textOf(name) || 'tool'
      const parts: ContentPart[] = [
        { type: 'toolResult', callId: textOf(callId) || 'call', name: toolName, result: text },
      ]
      return { ...shared, actor: toolName, role: 'TOOL', content: parts }
    }
    case 'system':
      return { ...shared, actor: AGENT, role: 'SYSTEM', content: text }
    default:
      options.unfit(`messages of the type ${textOf(type) || 'unknown'}`)
      return null
  }
}

type Thread = { messages: Json[]; at: Date | null }

export function createLangGraph(options: ConverterOptions): Converter {
  const threads = new Map<string, Thread>()
  return {
    convert(element) {
      const state: Json = isObject(element) ? element : {}
      const { checkpoint } = state
      const values = state.values ?? checkpoint?.channel_values ?? state.channel_values
      if (!isObject(values))
        throw new BadLine('is not a checkpoint of LangGraph: it has neither "values" nor "checkpoint.channel_values"')
      const named = [
        state.thread_id,
        state.config?.configurable?.thread_id,
        state.metadata?.thread_id,
        checkpoint?.thread_id,
      ]
      const id = named.map(textOf).find((each) => each !== '') ?? 'thread'
      const messages = listOf(values.messages).filter(isObject)
      for (const channel of Object.keys(values))
        if (channel !== 'messages') options.unfit('other channels of checkpoints')
      const known = threads.get(id)
      if (known) options.unfit('older checkpoints of a thread')
      if (!known || messages.length > known.messages.length) {
        threads.set(id, { messages, at: timeOf(state.created_at) ?? timeOf(checkpoint?.ts) })
      }
      return {}
    },
    end: () => ({
      conversations: [...threads].map(([id, { messages, at }]) => ({
        id,
        createdAt: at,
        participants: [],
        turns: messages.flatMap((message, index) => turnOf(message, index, options) ?? []),
      })),
    }),
  }
}
