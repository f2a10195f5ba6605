// Converts content of the AI SDK to the parts of a turn. The content is that of a ModelMessage, a prompt message, a
// model's reply or its stream. context/render/ai-sdk.ts converts in the other direction. Pure.

import type { PartInput } from './content.ts'

/** A part of such content. Its fields depend on its type. */
export type AiSdkPart = {
  readonly type: string
  readonly text?: string
  /** Text of a chunk of a stream. */
  readonly delta?: string
  readonly toolCallId?: string
  readonly toolName?: string
  /** Arguments of a tool call: a value, or its JSON. */
  readonly input?: unknown
  /** Result of a tool call: a text or a value with its type. */
  readonly output?: unknown
  /** Content of a file. A part without an absolute URL is left out, because other content belongs in a file store. */
  readonly data?: unknown
  readonly mediaType?: string
  readonly filename?: string | undefined
}

/** Returns the value of a tool's output; for a denied execution, the reason. */
function valueOf(output: unknown): unknown {
  const { type, value, reason } = (output ?? {}) as { type?: unknown; value?: unknown; reason?: unknown }
  return type === 'execution-denied' ? (reason ?? 'The call was denied.') : (value ?? null)
}

function toPart(part: AiSdkPart): PartInput | null {
  const { type, text = '', delta = '', toolCallId: callId = '', toolName: name = '', input, output } = part
  switch (type) {
    case 'text':
      return text === '' ? null : { text }
    case 'text-delta':
      return delta === '' ? null : { text: delta }
    case 'reasoning':
      return text === '' ? null : { reasoning: { reasoning: text } }
    case 'tool-call':
      return { toolCall: { callId, name, arguments: input ?? {} } }
    case 'tool-result':
      return { toolResult: { callId, name, result: valueOf(output) } }
    case 'file': {
      const { data, mediaType = 'application/octet-stream', filename: fileName = null } = part
      const url = data instanceof URL ? data.href : data
      return typeof url === 'string' && /^(https?|data):/.test(url) ? { file: { url, mediaType, fileName } } : null
    }
    default:
      return null
  }
}

/**
 * Returns the parts of the content; none for empty content. Adjacent texts, such as the deltas of a stream, are joined.
 * Parts of other types are left out.
 */
export function partsFromAiSdk(content: string | readonly AiSdkPart[]): PartInput[] {
  const parts: PartInput[] = []
  for (const given of typeof content === 'string' ? [{ type: 'text', text: content }] : content) {
    const part = toPart(given)
    const last = parts.at(-1)
    if (part?.text != null && last?.text != null) parts[parts.length - 1] = { text: last.text + part.text }
    else if (part) parts.push(part)
  }
  return parts
}
