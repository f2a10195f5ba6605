// Builds the request of POST /chat/completions from the parameters of a call, and the author names that OpenAI accepts.

import { createHash } from 'node:crypto'
import type { ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from 'openai/resources/chat'
import { asText, fileAsText, isFetchable, isFile, pairCalls, textOf, type PairedMessage } from '../message-parts.ts'
import type { ProviderCallParams, ProviderContentPart, ProviderMessage } from '../ports/provider-adapter.ts'

/**
 * Parameters that `extensions.openai` cannot set. The adapter or the call's parameters set them, except `n`, which keeps
 * its default of one reply.
 */
const RESERVED = new Set(['model', 'messages', 'stream', 'stream_options', 'n', 'tools', 'tool_choice'])

export type RequestOptions = {
  /** Name of the parameter that limits the tokens of the reply. OpenAI's newer models reject the older name. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Whether images are sent; otherwise they are named as text. */
  acceptsImages: boolean
}

/** Returns the request. `metadata.extensions.openai` may contain further parameters, except those in RESERVED. */
export function chatRequest(params: ProviderCallParams, options: RequestOptions): ChatCompletionCreateParamsStreaming {
  const { messages, tools = [], toolChoice, maxTokens, metadata } = params
  const further = Object.entries((metadata.extensions?.openai ?? {}) as Record<string, unknown>)
  return {
    ...Object.fromEntries(further.filter(([name]) => !RESERVED.has(name))),
    model: metadata.model,
    messages: pairCalls(messages).flatMap((each) => toOpenAi(each, options)),
    stream: true,
    stream_options: { include_usage: true },
    ...(maxTokens !== undefined && { [options.maxTokensField]: maxTokens }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function',
        function: {
          name,
          ...(description && { description }),
          parameters: (schema ?? { type: 'object', properties: {} }) as Record<string, unknown>,
        },
      })),
      ...(toolChoice !== undefined && toolChoice !== null && { tool_choice: toolChoiceOf(toolChoice) }),
    }),
  }
}

/** Converts `{ name }`; passes other values unchanged. */
function toolChoiceOf(choice: unknown): ChatCompletionCreateParamsStreaming['tool_choice'] {
  const { name } = choice as { name?: unknown }
  if (typeof name === 'string') return { type: 'function', function: { name } }
  return choice as ChatCompletionCreateParamsStreaming['tool_choice']
}

function toOpenAi(paired: PairedMessage, options: RequestOptions): ChatCompletionMessageParam[] {
  const text = textOf(paired.message)
  switch (paired.role) {
    case 'system':
      return [{ role: 'system', content: text }]
    case 'user': {
      const { name } = paired.message
      const content = userContent(paired.message, options)
      return content.length === 0 ? [] : [{ role: 'user', ...(name && { name: openAiName(name) }), content }]
    }
    case 'assistant':
      if (paired.calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }]
      return [
        {
          role: 'assistant',
          content: text || null,
          tool_calls: paired.calls.map(({ id, name, arguments: given }) => ({
            id,
            type: 'function',
            function: { name, arguments: asText(given) },
          })),
        },
        ...paired.calls.map(({ id, result }) => ({ role: 'tool' as const, tool_call_id: id, content: asText(result) })),
      ]
  }
}

type Block = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

/** Returns the content of a user message: blocks if it has an image, otherwise a text. */
function userContent({ content }: ProviderMessage, { acceptsImages }: RequestOptions): string | Block[] {
  const blocks = content.flatMap((part: ProviderContentPart): Block[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text as string }]
    if (!isFile(part)) return []
    return acceptsImages && part.mediaType.startsWith('image/') && isFetchable(part)
      ? [{ type: 'image_url', image_url: { url: part.url } }]
      : [{ type: 'text', text: fileAsText(part) }]
  })
  return blocks.some(({ type }) => type === 'image_url')
    ? blocks
    : blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

const SAFE_HEADER = /^[\x21-\x7e]{1,128}$/

/**
 * Returns the headers for `agentContext`: `traceparent` and `tracestate` (W3C Trace Context), and `requestId` as
 * `X-Client-Request-Id`. Other fields, and values that are not short printable texts, are not sent.
 */
export function contextHeaders(agentContext: unknown): Record<string, string> {
  const { traceparent, tracestate, requestId } = (agentContext ?? {}) as Record<string, unknown>
  const headers = { traceparent, tracestate, 'x-client-request-id': requestId }
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => SAFE_HEADER.test(String(entry[1] ?? ''))),
  )
}

/** Converts a name to at most 64 accepted characters; a name without ASCII letters and digits becomes a digest. */
export function openAiName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64)
  return /[a-zA-Z0-9]/.test(plain) ? plain : `speaker_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
