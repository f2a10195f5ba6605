// Reads the parts of messages for adapters. `pairCalls` adds a result to each tool call, as providers require.

import type {
  ProviderContentPart,
  ProviderFilePart,
  ProviderMessage,
  ProviderSourcesPart,
  ProviderToolCall,
  ProviderToolCallPart,
  ProviderToolResultPart,
} from './ports/provider-adapter.ts'

/** A message for a provider. Each tool call of an assistant's message has its result. */
export type PairedMessage =
  | { role: 'system' | 'user'; message: ProviderMessage }
  | { role: 'assistant'; message: ProviderMessage; calls: AnsweredCall[] }

export type AnsweredCall = ProviderToolCall & { result: unknown }

const isCall = (part: ProviderContentPart): part is ProviderToolCallPart => part.type === 'tool-call'
const isResult = (part: ProviderContentPart): part is ProviderToolResultPart => part.type === 'tool-result'
const isSources = (part: ProviderContentPart): part is ProviderSourcesPart => part.type === 'sources'
export const isFile = (part: ProviderContentPart): part is ProviderFilePart => part.type === 'file'

/** Returns the text parts, joined. */
export const textOf = ({ content }: ProviderMessage): string =>
  content.map((part) => (part.type === 'text' ? (part.text as string) : '')).join('')

/** Returns the ids of the message's sources. */
export const sourcesOf = ({ content }: ProviderMessage): string[] => content.filter(isSources).flatMap(({ ids }) => ids)

export const toolCallsOf = ({ content }: ProviderMessage): ProviderToolCallPart[] => content.filter(isCall)

export const toolResultsOf = ({ content }: ProviderMessage): ProviderToolResultPart[] => content.filter(isResult)

const NO_RESULT = 'There is no result: the call was not answered.'

/**
 * Assigns each call its result: the next result with the call's id, or, if the result has no id, with the call's name.
 * A call without a result gets NO_RESULT. Drops results without a call, and messages of tools.
 */
export function pairCalls(messages: readonly ProviderMessage[]): PairedMessage[] {
  const open: AnsweredCall[] = []
  const paired: PairedMessage[] = []
  for (const [index, message] of messages.entries()) {
    for (const { id, name, result } of toolResultsOf(message)) {
      const at = id ? open.findLastIndex((call) => call.id === id) : open.findIndex((call) => call.name === name)
      if (at >= 0) open.splice(at, 1)[0]!.result = result
    }
    if (message.role === 'tool') continue
    if (message.role !== 'assistant') {
      paired.push({ role: message.role, message })
      continue
    }
    const calls = toolCallsOf(message).map((call, place) => ({
      // Document 003 allows calls without an id.
      id: call.id || `call_${index}_${place}`,
      name: call.name,
      arguments: call.arguments,
      result: NO_RESULT as unknown,
    }))
    open.push(...calls)
    paired.push({ role: 'assistant', message, calls })
  }
  return paired
}

/** Returns the text of a value for providers: a string unchanged, any other value as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')

/** Returns a text with the name, type, URL and caption of a file that the provider cannot fetch or read. */
export const fileAsText = ({ fileName, mediaType, url, caption }: ProviderFilePart): string =>
  `[file: ${[fileName, mediaType, url].filter(Boolean).join(', ')}${caption ? `: ${caption}` : ''}]`

/** Whether a provider can fetch the file. */
export const isFetchable = ({ url }: ProviderFilePart): boolean => /^(https?|data):/.test(url)

/** Parses the arguments that a model wrote. An empty text is an empty object; a text that is not JSON is unchanged. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
