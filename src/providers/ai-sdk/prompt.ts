// Converts messages to the prompt of a model of Vercel's AI SDK. The prompt format has no field for an author's name,
// so the name is put at the beginning of a user message's text.

import type {
  JSONValue,
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3TextPart,
  LanguageModelV3ToolChoice,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import { fileAsText, isFile, pairCalls, textOf, type PairedMessage } from '../message-parts.ts'
import type { ProviderCallParams, ProviderFilePart, ProviderMessage } from '../ports/provider-adapter.ts'

/** The URLs that a model fetches itself, by media type. */
export type SupportedUrls = Record<string, RegExp[]>

/** Returns the options of a call. `metadata.extensions.aiSdk` becomes its `providerOptions`. */
export function callOptions(params: ProviderCallParams, urls: SupportedUrls): LanguageModelV3CallOptions {
  const { messages, tools = [], toolChoice, maxTokens, metadata } = params
  return {
    prompt: pairCalls(messages).flatMap((message) => toPrompt(message, urls)),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }): LanguageModelV3FunctionTool => ({
        type: 'function',
        name,
        ...(description && { description }),
        inputSchema: (schema ?? { type: 'object', properties: {} }) as LanguageModelV3FunctionTool['inputSchema'],
      })),
      toolChoice: toolChoiceOf(toolChoice),
    }),
    ...(metadata.extensions?.aiSdk !== undefined && {
      providerOptions: metadata.extensions.aiSdk as SharedV3ProviderOptions,
    }),
  }
}

function toolChoiceOf(choice: unknown): LanguageModelV3ToolChoice {
  if (choice === 'none' || choice === 'required') return { type: choice }
  const name = (choice as { name?: unknown } | null | undefined)?.name
  return typeof name === 'string' ? { type: 'tool', toolName: name } : { type: 'auto' }
}

function toPrompt(paired: PairedMessage, urls: SupportedUrls): LanguageModelV3Message[] {
  const text = textOf(paired.message)
  switch (paired.role) {
    case 'system':
      return [{ role: 'system', content: text }]
    case 'user': {
      const content = userContent(paired.message, urls)
      return content.length === 0 ? [] : [{ role: 'user', content }]
    }
    case 'assistant': {
      const calls = paired.calls.map(({ id, name, arguments: input }) => ({
        type: 'tool-call' as const,
        toolCallId: id,
        toolName: name,
        input,
      }))
      const content = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls]
      if (content.length === 0) return []
      if (calls.length === 0) return [{ role: 'assistant', content }]
      const results = paired.calls.map(({ id, name, result }) => ({
        type: 'tool-result' as const,
        toolCallId: id,
        toolName: name,
        output:
          typeof result === 'string'
            ? { type: 'text' as const, value: result }
            : { type: 'json' as const, value: (result ?? null) as JSONValue },
      }))
      return [
        { role: 'assistant', content },
        { role: 'tool', content: results },
      ]
    }
  }
}

type UserPart = LanguageModelV3TextPart | LanguageModelV3FilePart

function userContent({ content, name }: ProviderMessage, urls: SupportedUrls): UserPart[] {
  const parts = content.flatMap((part): UserPart[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text as string }]
    return isFile(part) ? [toFile(part, urls)] : []
  })
  const [first] = parts
  if (!name || !first) return parts
  return first.type === 'text'
    ? [{ type: 'text', text: `${name}: ${first.text}` }, ...parts.slice(1)]
    : [{ type: 'text', text: `${name}:` }, ...parts]
}

/** Passes a file with its data, or by its URL if the model can fetch it. Describes any other file as text. */
function toFile(part: ProviderFilePart, urls: SupportedUrls): UserPart {
  const { url, mediaType, fileName } = part
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
  if (data === undefined && !isSupported(urls, mediaType, url)) return { type: 'text', text: fileAsText(part) }
  return { type: 'file', data: data ?? new URL(url), mediaType, ...(fileName && { filename: fileName }) }
}

/** Whether the model can fetch files of the media type from the URL. The keys of `urls` may be patterns: `image/*`. */
export const isSupported = (urls: SupportedUrls, mediaType: string, url: string): boolean =>
  URL.canParse(url)
  && Object.entries(urls).some(([type, patterns]) => {
    const prefix = type.replace(/\*.*$/, '')
    return (
      (type === mediaType || (prefix !== type && mediaType.startsWith(prefix)))
      && patterns.some((each) => each.test(url))
    )
  })
