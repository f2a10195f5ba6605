// Renders messages for Vercel's AI SDK (`ModelMessage`), which converts them to the format of its provider.
// `ModelMessage` has no name field, so the speaker's name precedes the text.

import { blocks, toText, labelled, unwrapText, type RenderStep } from './step.ts'

type Json = null | string | number | boolean | { [key: string]: Json } | Json[]
type Text = { type: 'text'; text: string }
type Reasoning = { type: 'reasoning'; text: string; providerOptions?: { anthropic: { signature: string } } }
type ToolCall = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
type ToolResult = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text'; value: string } | { type: 'json'; value: Json }
}
type File = { type: 'file'; data: string; mediaType: string; filename?: string }

export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | (Text | File)[] }
  | { role: 'assistant'; content: string | (Text | Reasoning | ToolCall)[] }
  | { role: 'tool'; content: ToolResult[] }

/** Renders one step. Returns an empty array for a step without content. */
export function toAiSdk(step: RenderStep): AiSdkMessage[] {
  switch (step.role) {
    case 'system':
      return [{ role: 'system', content: step.text }]
    case 'tool':
      return [
        {
          role: 'tool',
          content: step.results.map(({ callId, name, result }) => ({
            type: 'tool-result',
            toolCallId: callId,
            toolName: name,
            output:
              typeof result === 'string' ? { type: 'text', value: result } : { type: 'json', value: result as Json },
          })),
        },
      ]
    case 'assistant': {
      const content = blocks<Reasoning | ToolCall>(step.parts, (part) => {
        if (part.type === 'toolCall') {
          return { type: 'tool-call', toolCallId: part.callId, toolName: part.name, input: part.arguments }
        }
        if (part.type !== 'reasoning') return toText(part)
        return {
          type: 'reasoning',
          text: part.reasoning,
          ...(part.signature ? { providerOptions: { anthropic: { signature: part.signature } } } : null),
        }
      })
      return content.length === 0 ? [] : [{ role: 'assistant', content: unwrapText(content) }]
    }
    case 'user': {
      const content = blocks<File>(labelled(step), (part) =>
        part.type === 'file' && /^(https?|data):/.test(part.url)
          ? {
              type: 'file',
              data: part.url,
              mediaType: part.mediaType,
              ...(part.fileName ? { filename: part.fileName } : null),
            }
          : toText(part),
      )
      return content.length === 0 ? [] : [{ role: 'user', content: unwrapText(content) }]
    }
  }
}
