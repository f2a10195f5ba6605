// Renders messages for Anthropic: the system prompt and instructions in `system`, and messages with alternating roles,
// starting with a user message. The name of a labelled message precedes its text. Reasoning without a signature is left
// out, because Anthropic requires one.

import { blocks, toText, labelled, resultText, type Part, type RenderStep } from './step.ts'

type Text = { type: 'text'; text: string }
type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'
type Url = { type: 'url'; url: string }
type Inline<Type> = { type: 'base64'; media_type: Type; data: string }

type AnthropicBlock =
  | Text
  | { type: 'image'; source: Url | Inline<ImageType> }
  | { type: 'document'; source: Url | Inline<'application/pdf'> }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; tool_use_id: string; content: string }

type AnthropicMessage = { role: 'user' | 'assistant'; content: AnthropicBlock[] }

export type AnthropicPrompt = { system: Text[]; messages: AnthropicMessage[] }

const BASE64 = /^data:(image\/(?:jpeg|png|gif|webp)|application\/pdf);base64,([A-Za-z0-9+/=]+)$/

/** Returns the file's block, or a text that describes the file if Anthropic does not accept its type or URL. */
function toFile(part: Part<'file'>): AnthropicBlock | string | null {
  const isImage = /^image\/(jpeg|png|gif|webp)$/.test(part.mediaType)
  if (!isImage && part.mediaType !== 'application/pdf') return toText(part)
  const inline = BASE64.exec(part.url)
  if (!inline && !/^https?:/.test(part.url)) return toText(part)
  if (isImage) {
    return {
      type: 'image',
      source:
        inline && inline[1] !== 'application/pdf'
          ? { type: 'base64', media_type: inline[1] as ImageType, data: inline[2]! }
          : { type: 'url', url: part.url },
    }
  }
  return {
    type: 'document',
    source: inline
      ? { type: 'base64', media_type: 'application/pdf', data: inline[2]! }
      : { type: 'url', url: part.url },
  }
}

const asObject = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : { value }

/** Renders one step, before adjacent messages of one role are merged. The message may have no content. */
export function toAnthropic(step: Exclude<RenderStep, { role: 'system' }>): AnthropicMessage {
  switch (step.role) {
    case 'tool':
      return {
        role: 'user',
        content: step.results.map(({ callId, result }) => ({
          type: 'tool_result',
          tool_use_id: callId,
          content: resultText(result),
        })),
      }
    case 'assistant':
      return {
        role: 'assistant',
        content: blocks<AnthropicBlock>(step.parts, (part) => {
          if (part.type === 'toolCall') {
            return { type: 'tool_use', id: part.callId, name: part.name, input: asObject(part.arguments) }
          }
          return part.type === 'reasoning' && part.signature
            ? { type: 'thinking', thinking: part.reasoning, signature: part.signature }
            : toText(part)
        }),
      }
    case 'user':
      return {
        role: 'user',
        content: blocks<AnthropicBlock>(labelled(step), (part) => (part.type === 'file' ? toFile(part) : toText(part))),
      }
  }
}

/** Inserted if the first message is the assistant's, because Anthropic requires a user message first. */
export const OPENING: AnthropicMessage = {
  role: 'user',
  content: [{ type: 'text', text: '(The conversation goes on.)' }],
}

/** Renders all steps; merges adjacent messages of one role, because Anthropic requires alternating roles. */
export function toAnthropicPrompt(steps: readonly RenderStep[]): AnthropicPrompt {
  const system: Text[] = []
  const messages: AnthropicMessage[] = []
  for (const step of steps) {
    if (step.role === 'system') {
      system.push({ type: 'text', text: step.text })
      continue
    }
    const { role, content } = toAnthropic(step)
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...content)
    else messages.push({ role, content: [...content] })
  }
  return { system, messages: messages[0]?.role === 'assistant' ? [OPENING, ...messages] : messages }
}
