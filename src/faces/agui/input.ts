// The input of an AG-UI run, and what of it the conversation does not have yet: messages, results of tools, decisions.
// Unknown fields are ignored, and known ones with a wrong value are refused, as the protocol demands. Pure.

import { z } from 'zod'
import type { ConversationVerbs, TurnInput } from '../../client/index.ts'
import { InvalidInput } from '../../errors.ts'
import { json, name, parse, text } from '../../domain/kernel/input.ts'
import { callOf, isOfServer } from './pieces.ts'

export type PartInput = NonNullable<TurnInput['parts']>[number]
export type ToolInput = NonNullable<Parameters<ConversationVerbs['run']>[0]['tools']>[number]

/** Maximum length of the ids that a client gives, in characters. */
const MAX_ID = 150
/** Maximum number of messages in one input. */
const MAX_MESSAGES = 10_000
/** Maximum number of tools of the client. */
const MAX_TOOLS = 64
/** Maximum length of a description and a value of `context`, and of one message, in characters. */
const MAX_TEXT = 16 * 1024 * 1024

const givenId = text(MAX_ID).min(1, 'must not be empty')
const source = z.looseObject({ type: z.string(), value: z.string(), mimeType: name.optional() })
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])

const message = z.looseObject({
  // The server has given some of the ids, which may be longer.
  id: text(1_000).min(1, 'must not be empty'),
  role: z.string(),
  content: content.optional(),
  toolCallId: text(1_000).optional(),
  error: z.string().optional(),
})
export type GivenMessage = z.output<typeof message>

const toolName = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')

const runInput = z.object({
  threadId: text(200).min(1, 'must not be empty'),
  runId: givenId,
  parentRunId: givenId.optional(),
  state: json.optional(),
  messages: z.array(message).max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`),
  tools: z
    .array(z.object({ name: toolName, description: z.string().optional(), parameters: json.optional() }))
    .max(MAX_TOOLS, `must have at most ${MAX_TOOLS} tools`)
    .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'must have different names')
    .default([]),
  context: z.array(z.object({ description: text(MAX_TEXT), value: text(MAX_TEXT) })).default([]),
  forwardedProps: json.optional(),
  resume: z
    .array(
      z.object({ interruptId: z.string(), status: z.enum(['resolved', 'cancelled']), payload: z.unknown().optional() }),
    )
    .default([]),
})
export type RunInput = z.output<typeof runInput>
export type ResumeEntry = RunInput['resume'][number]

/** Returns the input of a run. @throws InvalidInput */
export function readInput(given: unknown): RunInput {
  const input = parse(runInput, given)
  const { state } = input
  if (state != null && (typeof state !== 'object' || Array.isArray(state))) {
    throw InvalidInput.at('state', 'must be an object, whose fields are the keys of shared state')
  }
  return input
}

/** Whether the message gives instructions for the model. The conversation does not keep such messages. */
export const isInstruction = ({ role }: GivenMessage): boolean => role === 'system' || role === 'developer'

const MEDIA = new Set(['image', 'audio', 'video', 'document'])

/** Returns a part of a message as content of a turn. What the server does not know is kept as data. */
function partInput(part: { type: string; [field: string]: unknown }, path: string): PartInput {
  if (part.type === 'text' && typeof part.text === 'string') return { text: part.text }
  const media = MEDIA.has(part.type) ? source.safeParse(part.source) : null
  if (!media?.success || (media.data.type !== 'url' && media.data.type !== 'data')) return { data: part }
  const { type, value, mimeType } = media.data
  if (type === 'data' && mimeType === undefined) throw InvalidInput.at(`${path}.source.mimeType`, 'is required')
  const metadata = part.metadata as { fileName?: unknown; filename?: unknown } | undefined
  const fileName = metadata?.fileName ?? metadata?.filename
  return {
    file: {
      url: type === 'data' ? `data:${mimeType};base64,${value}` : value,
      mediaType: mimeType ?? (part.type === 'document' ? 'application/octet-stream' : `${part.type}/*`),
      fileName: typeof fileName === 'string' ? fileName : null,
    },
  }
}

/** Returns the content of a message for a turn. @throws InvalidInput for a message without content */
function contentOf({ content: given = '' }: GivenMessage, path: string): { content: string } | { parts: PartInput[] } {
  if (typeof given === 'string') return { content: given }
  const parts = given.map((part, index) => partInput(part, `${path}.content.${index}`))
  const [first] = parts
  if (!first) throw InvalidInput.at(`${path}.content`, 'must not be empty')
  return parts.length === 1 && 'text' in first ? { content: first.text } : { parts }
}

/** A message that the conversation does not have, as a turn. */
export type NewTurn = Omit<TurnInput, 'role' | 'clientId'> & { clientId: string; role: 'USER' }

const turnOf = (given: GivenMessage, index: number): NewTurn => ({
  role: 'USER',
  clientId: given.id,
  metadata: { messageId: given.id },
  ...contentOf(given, `messages.${index}`),
})

/**
 * Returns the messages of the person that the conversation does not have, in order. A message is new if the server did not
 * give it its id, it is none of the newest messages of the conversation, and it follows one of these; if the client has
 * none of them, if it follows the last answer.
 * @param known the ids of the newest messages of the conversation
 * @throws InvalidInput for an id that is too long, or a message without content
 */
export function newTurnsOf(messages: readonly GivenMessage[], known: ReadonlySet<string>): NewTurn[] {
  const isKnown = ({ id }: GivenMessage) => known.has(id) || isOfServer(id)
  const firstKnown = messages.findIndex(({ id }) => known.has(id))
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool')
  const from = firstKnown < 0 ? lastAnswer + 1 : firstKnown
  return messages.flatMap((given, index) => {
    if (index < from || given.role !== 'user' || isKnown(given)) return []
    if (given.id.length > MAX_ID) throw InvalidInput.at(`messages.${index}.id`, `must be at most ${MAX_ID} characters`)
    return [turnOf(given, index)]
  })
}

/** A result of a tool that the client has executed. */
export type GivenResult = { messageId: string; turnId: string; callId: string; result: unknown }

/** Returns the results of tool calls of the server that the conversation does not have. */
export function newResultsOf(messages: readonly GivenMessage[], known: ReadonlySet<string>): GivenResult[] {
  return messages.flatMap(({ id, role, toolCallId, content: given = '', error }) => {
    const call = role === 'tool' && toolCallId !== undefined && !known.has(id) ? callOf(toolCallId) : null
    if (!call) return []
    return [{ messageId: id, ...call, result: error === undefined ? given : { error, content: given } }]
  })
}

/** Returns what the client tells the model besides the conversation: its instructions, and the `context` of the run. */
export function instructionsOf({ messages, context }: RunInput): string[] {
  const given = messages.filter(isInstruction).map(({ content: text }) => (typeof text === 'string' ? text : ''))
  const described = context.map(({ description, value }) => `${description}: ${value}`)
  return [...given, ...described].filter((each) => each.trim() !== '')
}

/** Returns the tools that the client executes, as tools of a run. */
export const toolsOf = ({ tools }: RunInput): ToolInput[] =>
  tools.map(({ name: tool, description, parameters }) => ({
    name: tool,
    description: description ?? null,
    schema: parameters ?? null,
  }))
