// Conversations of OpenAI's API: the items of a conversation (Conversations API), or the messages of a thread (Assistants
// API), as the API lists them. An element is such a list, or an object with it and with the id of the conversation.

import { BadLine } from '../format.ts'
import type { ContentPart } from '../../../turn/content.ts'
import {
  isObject,
  jsonOf,
  listOf,
  textOf,
  timeOf,
  type Converter,
  type ConverterOptions,
  type ForeignTurn,
  type Json,
  type Unfit,
} from './foreign.ts'

const AGENT = 'assistant'

/** Returns the text of a part of a message; null for a part without text. */
function textOfPart(part: Json, unfit: Unfit): string | null {
  const { type } = part
  if (type === 'text') return typeof part.text === 'string' ? part.text : textOf(part.text?.value)
  if (type === 'input_text' || type === 'output_text') return textOf(part.text)
  if (type === 'refusal') return textOf(part.refusal)
  unfit(`content parts of the type ${textOf(type) || 'unknown'}`)
  return null
}

function messageOf({ content }: Json, unfit: Unfit): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .flatMap((part) => textOfPart(part as Json, unfit) ?? [])
    .join('\n')
}

const ROLES = { user: 'USER', assistant: 'ASSISTANT', system: 'SYSTEM', developer: 'SYSTEM' } as const

/** Returns the turn of an item or a message; null for an item without content of its own. */
function turnOf(item: Json, { owner, unfit }: ConverterOptions): ForeignTurn | null {
  const { id, type = 'message', role, call_id: callId, created_at: at, assistant_id: assistant } = item
  const shared = { id: textOf(id) || textOf(callId), createdAt: timeOf(at) }
  const byAgent = { ...shared, actor: textOf(assistant) || AGENT, role: 'ASSISTANT' as const }
  const call = { callId: textOf(callId) || textOf(id), name: textOf(item.name) || 'tool' }
  switch (type) {
    case 'message': {
      const known = ROLES[role as keyof typeof ROLES]
      if (!known) {
        unfit(`messages with the role ${textOf(role) || 'unknown'}`)
        return null
      }
      const content = messageOf(item, unfit)
      return known === 'USER' ? { ...shared, actor: owner, role: known, content } : { ...byAgent, role: known, content }
    }
    case 'function_call':
      return { ...byAgent, content: [{ type: 'toolCall', ...call, arguments: jsonOf(item.arguments) }] }
    case 'function_call_output':
      return {
        ...shared,
        id: `${shared.id}-output`,
        actor: 'tool',
        role: 'TOOL',
        content: [{ type: 'toolResult', ...call, result: jsonOf(item.output) }],
      }
    case 'reasoning': {
      const reasoning = listOf(item.summary)
        .map((each) => textOf(each?.text))
        .join('\n')
      const content: ContentPart[] = [{ type: 'reasoning', reasoning }]
      return reasoning === '' ? null : { ...byAgent, content }
    }
    default:
      unfit(`items of the type ${textOf(type) || 'unknown'}`)
      return null
  }
}

/** Returns the items in the order in which they were written. The API lists the newest first by default. */
function inOrder(items: readonly Json[]): Json[] {
  const times = items.map(({ created_at: at }) => timeOf(at)?.getTime() ?? null)
  const isNewestFirst = times.length > 1 && times[0] !== null && times.at(-1)! !== null && times[0]! > times.at(-1)!
  return isNewestFirst ? items.toReversed() : [...items]
}

export function createOpenAi(options: ConverterOptions): Converter {
  let unnamed = 0
  return {
    convert(element) {
      const object: Json = isObject(element) ? element : {}
      const list = [object.items, object.messages, object.data, object].find(
        (each) => Array.isArray(each) || Array.isArray(each?.data),
      )
      if (list === undefined)
        throw new BadLine('is not of an export of OpenAI: it has neither "data", "items" nor "messages"')
      const items = inOrder(listOf(Array.isArray(list) ? list : list.data).filter(isObject))
      const threadId = textOf(items[0]?.thread_id)
      const isNamed = object.object === 'conversation' || object.object === 'thread'
      const id = (isNamed && textOf(object.id)) || threadId || textOf(items[0]?.id) || `${++unnamed}`
      const turns = items.flatMap((item) => turnOf(item, options) ?? [])
      const createdAt = isNamed ? timeOf(object.created_at) : null
      return { conversations: [{ id, title: textOf(object.metadata?.title), createdAt, participants: [], turns }] }
    },
  }
}
