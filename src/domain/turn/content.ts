// The content of a turn: its parts, their validation, and the values derived from them. A single text part is stored as
// the turn's text only, without parts.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import type { TokenCounter } from '../../text/tokens.ts'
import type { Limits } from '../platform.ts'
import { json, name, text } from '../input.ts'
import { fileUrl } from './file-url.ts'

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'toolCall'; callId: string; name: string; arguments: unknown }
  | { type: 'toolResult'; callId: string; name: string; result: unknown }
  | { type: 'file'; mediaType: string; url: string; fileName?: string | null }
  | { type: 'reasoning'; reasoning: string; signature?: string | null }
  | { type: 'data'; data: unknown }

/** Maximum number of characters (code points) of a part's text. The turn's bytes are limited by Limits.turnBytes. */
const MAX_TEXT = 16 * 1024 * 1024

const call = { callId: name, name }

/**
 * Returns the arguments of a call as JSON. OpenAI's API and some SDKs give them as a text with a JSON object; other values,
 * and texts that are no JSON object, stay as they are.
 */
function parsedArguments(given: unknown): unknown {
  if (typeof given !== 'string' || !given.trimStart().startsWith('{')) return given
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}
const isGiven = (value: unknown) => value !== undefined && value !== null

/** One part: an object with exactly one field, which names its type. */
export const partInput = z
  .object({
    text: text(MAX_TEXT).nullish(),
    toolCall: z.object({ ...call, arguments: z.preprocess(parsedArguments, json) }).nullish(),
    toolResult: z.object({ ...call, result: json.optional() }).nullish(),
    file: z.object({ mediaType: name, url: fileUrl, fileName: name.nullish() }).nullish(),
    reasoning: z.object({ reasoning: text(MAX_TEXT), signature: text(65_536).nullish() }).nullish(),
    data: json.optional(),
  })
  .refine((part) => Object.values(part).filter(isGiven).length === 1, 'must have exactly one field')
export type PartInput = z.input<typeof partInput>

/** Maximum number of parts per turn. */
const MAX_PARTS = 1000

export const parts = z
  .array(partInput)
  .min(1, 'must not be empty')
  .max(MAX_PARTS, `must have at most ${MAX_PARTS} parts`)

/** Converts parts that were parsed by `partInput` to their stored form. */
export function toParts(inputs: readonly z.output<typeof partInput>[]): ContentPart[] {
  return inputs.map((input): ContentPart => {
    if (isGiven(input.text)) return { type: 'text', text: input.text }
    if (input.toolCall) return { type: 'toolCall', ...input.toolCall, arguments: input.toolCall.arguments ?? null }
    if (input.toolResult) return { type: 'toolResult', ...input.toolResult, result: input.toolResult.result ?? null }
    if (input.file) return { type: 'file', ...input.file }
    if (input.reasoning) return { type: 'reasoning', ...input.reasoning }
    return { type: 'data', data: input.data }
  })
}

export type Content = {
  /** The text parts joined. */
  text: string
  /** Null if the content is a single text part. */
  parts: ContentPart[] | null
  /** Token count of the whole content. */
  tokens: number
  /** Ids of the tool calls that the turn makes. */
  calls: string[]
  /** Ids of the tool calls that the turn answers, except calls made earlier in the same turn. */
  answers: string[]
}

/** Returns the text of a part for counting tokens: approximately the text that a model reads. */
function countedText(part: ContentPart): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return part.reasoning
    case 'toolCall':
      return `${part.name} ${JSON.stringify(part.arguments)}`
    case 'toolResult':
      return `${part.name} ${JSON.stringify(part.result)}`
    case 'file':
      return `${part.mediaType} ${part.url}`
    case 'data':
      return JSON.stringify(part.data)
  }
}

/**
 * Returns the content to store for the parts. Writing the turn checks that the answered calls exist.
 * @throws InvalidInput when the parts have only blank text, or more bytes than `turnBytes`
 */
export async function contentOf(
  all: ContentPart[],
  { tokens, limits }: { tokens: Pick<TokenCounter, 'count'>; limits: Pick<Limits, 'turnBytes'> },
  path = 'content',
): Promise<Content> {
  if (all.every((part) => part.type === 'text' && part.text.trim() === '')) {
    throw InvalidInput.at(path, 'must not be empty')
  }
  const plain = all.length === 1 && all[0]!.type === 'text'
  const text = all.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const bytes = Buffer.byteLength(plain ? text : JSON.stringify(all))
  if (bytes > limits.turnBytes) {
    throw InvalidInput.at(path, `has ${bytes} bytes; a turn may have at most ${limits.turnBytes}`)
  }
  const counted = tokens.count(plain ? text : all.map(countedText).join('\n'))
  const calls = new Set<string>()
  const answers = new Set<string>()
  for (const part of all) {
    if (part.type === 'toolCall') calls.add(part.callId)
    if (part.type === 'toolResult' && !calls.has(part.callId)) answers.add(part.callId)
  }
  return {
    text,
    parts: plain ? null : all,
    tokens: typeof counted === 'number' ? counted : await counted,
    calls: [...calls],
    answers: [...answers],
  }
}

/** Whether a stored part is one that this version knows, with the fields that it needs. */
function isPart(part: unknown): part is ContentPart {
  if (part === null || typeof part !== 'object') return false
  const fields = part as Record<string, unknown>
  const areTexts = (...names: string[]) => names.every((each) => typeof fields[each] === 'string')
  switch (fields.type) {
    case 'text':
      return areTexts('text')
    case 'toolCall':
      return areTexts('callId', 'name') && fields.arguments !== undefined
    case 'toolResult':
      return areTexts('callId', 'name') && fields.result !== undefined
    case 'file':
      return areTexts('mediaType', 'url')
    case 'reasoning':
      return areTexts('reasoning')
    case 'data':
      return fields.data !== undefined
    default:
      return false
  }
}

/** Whether the stored parts are damaged, or were written by a newer version: not a list of known parts. */
export const isDamaged = ({ parts }: { parts: unknown }): boolean =>
  parts !== null && !(Array.isArray(parts) && parts.every(isPart))

/** Returns the parts of a stored turn, without damaged ones; none if it has no content. */
export function partsOf(turn: { text: string; parts: unknown }): ContentPart[] {
  if (Array.isArray(turn.parts)) return turn.parts.filter(isPart)
  return turn.text === '' ? [] : [{ type: 'text', text: turn.text }]
}

/** Returns JSON with sorted keys and without null fields, so that equal values have equal text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner) && !(inner instanceof Date)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, v]) => isGiven(v))
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  )
}

/** Digest that detects different content for the same clientId: 32 hex digits of SHA-256 over the canonical input. */
export function digest(input: unknown): string {
  return createHash('sha256').update(canonical(input)).digest('hex').slice(0, 32)
}
