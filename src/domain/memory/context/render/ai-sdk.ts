// Renders messages for Vercel's AI SDK (`system` and `ModelMessage`s), which converts them to the format of its
// provider. The system prompt and the instructions are in `system` only, because the SDK warns about system messages in
// `messages`. `ModelMessage` has no name field, so a labelled message begins with the participant's name.

import { isFetchable } from '../../../../providers/message-parts.ts'
import { blocks, toText, labelled, unwrapText, type Part, type RenderStep } from './step.ts'

type Json = null | string | number | boolean | { [key: string]: Json } | Json[]
type Text = { type: 'text'; text: string }
type SignatureOptions = { anthropic: { signature: string } }
type Reasoning = { type: 'reasoning'; text: string; providerOptions?: SignatureOptions }
type ToolCall = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
type ToolResult = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text'; value: string } | { type: 'json'; value: Json }
}
type File = { type: 'file'; data: string; mediaType: string; filename?: string }

type AiSdkMessage =
  | { role: 'user'; content: string | (Text | File)[] }
  | { role: 'assistant'; content: string | (Text | Reasoning | ToolCall)[] }
  | { role: 'tool'; content: ToolResult[] }

/** Returns the signature of the reasoning as the SDK's Anthropic provider expects it; null if there is none. */
export const signatureOf = ({ signature }: Part<'reasoning'>): SignatureOptions | null =>
  signature ? { anthropic: { signature } } : null

/** `system` is absent if the context has no system prompt and no instructions. */
export type AiSdkPrompt = { system?: string; messages: AiSdkMessage[] }

/** Separates the system prompt and the instructions in `system`. */
const BETWEEN_INSTRUCTIONS = '\n\n'

/** Renders all steps; joins the system prompt and the instructions, in order. */
export function toAiSdkPrompt(steps: readonly RenderStep[]): AiSdkPrompt {
  const system = steps.flatMap((step) => (step.role === 'system' ? [step.text] : []))
  return {
    ...(system.length ? { system: system.join(BETWEEN_INSTRUCTIONS) } : null),
    messages: steps.flatMap((step) => (step.role === 'system' ? [] : toAiSdk(step))),
  }
}

type AiSdkModelMessage = { role: 'system'; content: string } | { role: AiSdkMessage['role']; content: object[] }

/** Converts the prompt to the SDK's model messages, for middleware: the system prompt first, and text as parts. */
export const toAiSdkModelPrompt = ({ system, messages }: AiSdkPrompt): AiSdkModelMessage[] => [
  ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
  ...messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  })),
]

/** Renders one step. Returns an empty array for a step without content. */
export function toAiSdk(step: Exclude<RenderStep, { role: 'system' }>): AiSdkMessage[] {
  switch (step.role) {
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
        const signature = signatureOf(part)
        return { type: 'reasoning', text: part.reasoning, ...(signature && { providerOptions: signature }) }
      })
      return content.length === 0 ? [] : [{ role: 'assistant', content: unwrapText(content) }]
    }
    case 'user': {
      const content = blocks<File>(labelled(step), (part) =>
        part.type === 'file' && isFetchable(part)
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
