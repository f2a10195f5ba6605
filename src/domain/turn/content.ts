// What a turn says: the parts of its content, how they are read from input, and what is derived from them.
// Stored, a turn is its text and, unless the one part is that text, all its parts.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import type { TokenCounter } from '../../text/tokens.ts'
import type { Limits } from '../platform.ts'
import { json, name, text } from '../input.ts'

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'toolCall'; callId: string; name: string; arguments: unknown }
  | { type: 'toolResult'; callId: string; name: string; result: unknown }
  | { type: 'file'; mediaType: string; url: string; fileName?: string | null }
  | { type: 'reasoning'; reasoning: string; signature?: string | null }
  | { type: 'data'; data: unknown }

/** Characters a part's text may have before its bytes are even counted. */
const LONGEST = 16 * 1024 * 1024

const call = { callId: name, name }
const given = (value: unknown) => value !== undefined && value !== null

/** One part, with exactly one of its fields given. */
export const partInput = z
  .object({
    text: text(LONGEST).nullish(),
    toolCall: z.object({ ...call, arguments: json }).nullish(),
    toolResult: z.object({ ...call, result: json }).nullish(),
    file: z.object({ mediaType: name, url: text(8192).min(1), fileName: name.nullish() }).nullish(),
    reasoning: z.object({ reasoning: text(LONGEST), signature: text(65_536).nullish() }).nullish(),
    data: json.optional(),
  })
  .refine((part) => Object.values(part).filter(given).length === 1, 'must have exactly one field')
export type PartInput = z.input<typeof partInput>

/** At most this many parts a turn. */
export const parts = z.array(partInput).min(1, 'must not be empty').max(1000, 'must have at most 1000 parts')

/** The stored form of parts that were parsed by `partInput`. */
export function toParts(inputs: readonly z.output<typeof partInput>[]): ContentPart[] {
  return inputs.map((input): ContentPart => {
    if (given(input.text)) return { type: 'text', text: input.text }
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
  /** null where the one part is the text. */
  parts: ContentPart[] | null
  /** Of all of it, in the model's tokens. */
  tokens: number
  /** Tool calls it makes. */
  calls: string[]
  /** Tool calls it answers that it does not make itself, before them. */
  answers: string[]
}

/** What is counted of a part: what a model would be shown. */
function shown(part: ContentPart): string {
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
 * What is stored of the parts. Answers to nothing are not looked for here: the calls may be in the conversation already.
 * @throws InvalidInput when they say nothing or take more than `turnBytes`.
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
    throw InvalidInput.at(path, `has ${bytes} bytes; a turn may have ${limits.turnBytes}`)
  }
  const counted = tokens.count(plain ? text : all.map(shown).join('\n'))
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

/** The parts of a stored turn. */
export function partsOf(turn: { text: string; parts: ContentPart[] | null }): ContentPart[] {
  return turn.parts ?? (turn.text === '' ? [] : [{ type: 'text', text: turn.text }])
}

/** JSON with the keys of every object in order: equal values print equally. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner) && !(inner instanceof Date)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, v]) => given(v))
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  )
}

/** Tells apart what was sent under the same clientId: 32 hex digits of SHA-256 over the canonical input. */
export function digest(input: unknown): string {
  return createHash('sha256').update(canonical(input)).digest('hex').slice(0, 32)
}
