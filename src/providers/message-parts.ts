// Reads the parts of messages for adapters. Invariant, required by providers: each tool call is followed by its result.

import type {
  ProviderContentPart,
  ProviderFilePart,
  ProviderMessage,
  ProviderSourcesPart,
  ProviderToolCall,
  ProviderToolCallPart,
  ProviderToolResultPart,
} from './ports/provider-adapter.ts'

/** A message for a provider; the calls of an assistant's message have their results. */
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
 * Gives each call its result: the next one with its id, or with its name if the result has no id. A call without a
 * result gets a text that says so. Drops results without a call, and messages of tools.
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
      // Calls of document 003 have no id.
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

/** Returns a value as providers get it: a text unchanged, other values as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')

/** Names a file that the provider cannot fetch or read. */
export const fileAsText = ({ fileName, mediaType, url }: ProviderFilePart): string =>
  `[file: ${[fileName, mediaType, url].filter(Boolean).join(', ')}]`

/** Whether a provider can fetch the file. */
export const isFetchable = ({ url }: ProviderFilePart): boolean => /^(https?|data):/.test(url)

/** Parses the arguments that a model wrote: nothing is an empty object; a text that is not JSON stays as it is. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
