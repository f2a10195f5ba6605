// The content of a turn: its parts, their validation, and the values derived from them. A single text part is stored as
// the turn's text only, without parts.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { MAX_MENTIONS, mentionsIn } from '../../text/mentions.ts'
import type { TokenCounter } from '../../text/tokens.ts'
import type { Limits } from '../kernel/platform.ts'
import type { FoundCall } from '../../store/sql/turn/find-calls.ts'
import type { ToolCallRef, ToolResultRef } from '../../store/sql/turn/append-call.ts'
import { id, json, name, text } from '../kernel/input.ts'
import { fileInput, toFilePart } from './parts/file-part.ts'
import { fileUrl } from './parts/file-url.ts'
import type { ContentPart } from './parts/part.ts'
import { countedText, imageTokensOf } from './parts/part-tokens.ts'
import { resultProblem } from './append/tool-results.ts'

export { MAX_MENTIONS }

export type { ContentPart } from './parts/part.ts'

/** Maximum number of characters (code points) of a part's text. The turn's bytes are limited by Limits.turnBytes. */
const MAX_TEXT = 16 * 1024 * 1024

const call = { callId: name, name }

/**
 * Returns the arguments of a call as a JSON value. OpenAI's API and some SDKs send a string that contains a JSON
 * object, which is parsed here. Other values, and other strings, are returned unchanged.
 */
function parsedArguments(given: unknown): unknown {
  if (typeof given !== 'string' || !given.trimStart().startsWith('{')) return given
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

/** Maximum number of characters (code points) of a signature. */
export const MAX_SIGNATURE = 65_536

const isGiven = (value: unknown) => value !== undefined && value !== null

/** The parts that streaming turns also receive whole. */
const wholePart = {
  toolResult: z.object({ ...call, result: json.optional(), callTurnId: id('turn').nullish() }).nullish(),
  file: fileInput.nullish(),
  source: z.object({ url: fileUrl, title: name.nullish() }).nullish(),
  data: json.optional(),
}

/** A part: an object with exactly one field. The name of the field is the type of the part. */
const partInput = z
  .object({
    text: text(MAX_TEXT).nullish(),
    toolCall: z.object({ ...call, arguments: z.preprocess(parsedArguments, json) }).nullish(),
    reasoning: z.object({ reasoning: text(MAX_TEXT), signature: text(MAX_SIGNATURE).nullish() }).nullish(),
    ...wholePart,
  })
  .refine((part) => Object.values(part).filter(isGiven).length === 1, 'must have exactly one field')
export type PartInput = z.input<typeof partInput>

/** Maximum number of parts per turn. */
export const MAX_PARTS = 1000

export const parts = z
  .array(partInput)
  .min(1, 'must not be empty')
  .max(MAX_PARTS, `must have at most ${MAX_PARTS} parts`)

type WholeInput = { [Type in keyof typeof wholePart]?: z.output<(typeof wholePart)[Type]> }
/** A part that streaming turns also receive whole, in its stored form. */
export type WholePart = Extract<ContentPart, { type: keyof typeof wholePart }>

/**
 * Returns the stored form of a whole part; null if none of the fields is given. The part of an attachment has only its
 * URN yet: see withAttachments.
 */
export function toWholePart({ toolResult, file, source, data }: WholeInput): WholePart | null {
  if (toolResult) {
    const { callTurnId, ...given } = toolResult
    return { type: 'toolResult', ...given, result: given.result ?? null, ...(callTurnId ? { callTurnId } : null) }
  }
  if (file) return toFilePart(file)
  if (source) return { type: 'source', ...source }
  return isGiven(data) ? { type: 'data', data } : null
}

/** Converts parts that were parsed by `partInput` to their stored form. */
export function toParts(inputs: readonly z.output<typeof partInput>[]): ContentPart[] {
  return inputs.map((input): ContentPart => {
    if (isGiven(input.text)) return { type: 'text', text: input.text }
    if (input.toolCall) return { type: 'toolCall', ...input.toolCall, arguments: input.toolCall.arguments ?? null }
    if (input.reasoning) return { type: 'reasoning', ...input.reasoning }
    return toWholePart(input)!
  })
}

/** Maximum number of parts that one turn receives with deltas: with the texts around them, fewer than MAX_PARTS. */
export const MAX_STREAMED_PARTS = 400

/** The part that a delta belongs to. The field that is given besides the number opens it. */
export const streamedPart = z
  .object({
    number: z
      .number()
      .int()
      .min(1)
      .max(MAX_STREAMED_PARTS, `must be at most ${MAX_STREAMED_PARTS}: a turn has at most that many streamed parts`),
    toolCall: z.object(call).nullish(),
    toolProgress: z.object({ callId: name }).nullish(),
    reasoning: z.object({ signature: text(MAX_SIGNATURE).nullish() }).nullish(),
    ...wholePart,
    isComplete: z.boolean().nullish(),
  })
  .refine(({ number, isComplete, ...kinds }) => Object.values(kinds).filter(isGiven).length <= 1, 'must have one kind')

export type Content = {
  /** The text parts joined. */
  text: string
  /** Null if the content is a single text part. */
  parts: ContentPart[] | null
  /** Token count of the whole content. */
  tokens: number
  /** The tool calls that the turn makes. */
  calls: ToolCallRef[]
  /** The tool results in the turn. `place` is 0 for a result of a call that precedes it in the same turn. */
  results: ToolResultRef[]
  /** The mentioned names in the text; they need not be names of participants. Absent for none. */
  mentions?: string[]
}

/** Returns the calls and results of the parts. `place` is 0 for a result whose call precedes it in the parts. */
function refsOf(parts: readonly ContentPart[], path: string): { calls: ToolCallRef[]; results: ToolResultRef[] } {
  const calls = new Map<string, ToolCallRef>()
  const results: ToolResultRef[] = []
  for (const [index, part] of parts.entries()) {
    if (part.type === 'toolCall') {
      if (calls.has(part.callId)) {
        throw InvalidInput.at(path, `has two tool calls with the callId ${JSON.stringify(part.callId)}`)
      }
      calls.set(part.callId, { callId: part.callId, name: part.name })
    } else if (part.type === 'toolResult') {
      const { callId, name, callTurnId } = part
      const own = callTurnId == null ? calls.get(callId) : undefined
      if (own && own.name !== name) {
        throw InvalidInput.at(path, resultProblem('other_name', { callId, name, turnId: null, found: [own.name] }))
      }
      results.push({ part: index, callId, name, ...(own ? { place: 0 } : { turnId: callTurnId ?? null }) })
    }
  }
  return { calls: [...calls.values()], results }
}

/**
 * Returns the content to store for the parts. The calls that its results answer are found when the turn is written.
 * @throws InvalidInput for only blank text, more than MAX_PARTS parts or `turnBytes`, or two calls with one callId
 */
export async function contentOf(
  all: ContentPart[],
  { tokens, limits }: { tokens: Pick<TokenCounter, 'count'>; limits: Pick<Limits, 'turnBytes'> },
  path = 'content',
): Promise<Content> {
  if (all.every((part) => part.type === 'text' && part.text.trim() === '')) {
    throw InvalidInput.at(path, 'must not be empty')
  }
  if (all.length > MAX_PARTS) throw InvalidInput.at(path, `has ${all.length} parts; a turn may have ${MAX_PARTS}`)
  const plain = all.length === 1 && all[0]!.type === 'text'
  const text = all.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const bytes = Buffer.byteLength(plain ? text : JSON.stringify(all))
  if (bytes > limits.turnBytes) {
    throw InvalidInput.at(path, `has ${bytes} bytes; a turn may have at most ${limits.turnBytes}`)
  }
  const { calls, results } = refsOf(all, path)
  const counted = tokens.count(plain ? text : all.map(countedText).join('\n'))
  return {
    text,
    parts: plain ? null : all,
    tokens: (typeof counted === 'number' ? counted : await counted) + imageTokensOf(all),
    calls,
    results,
    mentions: mentionsIn(text) ?? undefined,
  }
}

/** A call that a turn answers. `approvalId` is the approval that the result follows; null for none. */
export type AnsweredCall = { callId: string; callPosition: number; approvalId: string | null }

/** Returns the parts with the call of each result, and the answered calls. `own` is the turn, for its own calls. */
export function linkResults(
  parts: readonly ContentPart[] | null,
  results: readonly ToolResultRef[],
  found: readonly FoundCall[],
  own: { turnId: string; callPosition: number },
): { parts: ContentPart[] | null; answered: AnsweredCall[] } {
  const calls = new Map<number, { turnId: string; callPosition: number; approvalId?: string | null }>()
  for (const { part, place } of results) if (place !== undefined) calls.set(part, own)
  for (const call of found) if (call.outcome === 'found') calls.set(call.part, call)
  const answered = new Map<string, AnsweredCall>()
  const linked = parts?.map((part, index): ContentPart => {
    const call = part.type === 'toolResult' ? calls.get(index) : undefined
    if (part.type !== 'toolResult' || !call) return part
    const { turnId: callTurnId, callPosition, approvalId = null } = call
    answered.set(`${callPosition} ${part.callId}`, { callId: part.callId, callPosition, approvalId })
    return { ...part, callTurnId, callPosition, ...(approvalId !== null && { approvalId }) }
  })
  return { parts: linked ?? null, answered: [...answered.values()] }
}

/** Whether a stored part has a type that this version of the server knows, and the required fields. */
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
    case 'source':
      return areTexts('url')
    case 'reasoning':
      return areTexts('reasoning')
    case 'data':
      return fields.data !== undefined
    default:
      return false
  }
}

/** Whether the stored parts are not a list of known parts: damaged, or written by a newer version of the server. */
export const isDamaged = ({ parts }: { parts: unknown }): boolean =>
  parts !== null && !(Array.isArray(parts) && parts.every(isPart))

/** Returns the parts of a stored turn, without damaged ones; none if it has no content. */
export function partsOf(turn: { text: string; parts: unknown }): ContentPart[] {
  if (Array.isArray(turn.parts)) return turn.parts.filter(isPart)
  return turn.text === '' ? [] : [{ type: 'text', text: turn.text }]
}
