// Renders messages for OpenAI's chat completions. Reasoning is left out. Adjacent user messages stay separate; `name`
// identifies their actors.

import { isFetchable } from '../../../../providers/message-parts.ts'
import { openAiName } from '../../../../providers/openai/chat-request.ts'
import { blocks, callsOf, toText, unwrapText, resultText, textOf, type RenderStep } from './step.ts'

type Text = { type: 'text'; text: string }
type Image = { type: 'image_url'; image_url: { url: string } }
type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

export type OpenAiMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; name?: string; content: string | (Text | Image)[] }
  | { role: 'assistant'; content?: string; tool_calls?: ToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

/** Renders one step. Returns an empty array for a step without content that OpenAI accepts. */
export function toOpenAi(step: RenderStep): OpenAiMessage[] {
  switch (step.role) {
    case 'system':
      return [{ role: 'system', content: step.text }]
    case 'tool':
      return step.results.map(({ callId, result }) => ({
        role: 'tool',
        tool_call_id: callId,
        content: resultText(result),
      }))
    case 'assistant': {
      const content = textOf(step.parts)
      const calls = callsOf(step).map(({ callId, name, arguments: given }): ToolCall => ({
        id: callId,
        type: 'function',
        function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
      }))
      if (content === '' && calls.length === 0) return []
      return [
        {
          role: 'assistant',
          ...(content === '' ? null : { content }),
          ...(calls.length ? { tool_calls: calls } : null),
        },
      ]
    }
    case 'user': {
      const { name } = step.message
      const content = blocks<Image>(step.parts, (part) =>
        part.type === 'file' && part.mediaType.startsWith('image/') && isFetchable(part)
          ? { type: 'image_url', image_url: { url: part.url } }
          : toText(part),
      )
      if (content.length === 0) return []
      return [{ role: 'user', ...(name === null ? null : { name: openAiName(name) }), content: unwrapText(content) }]
    }
  }
}
