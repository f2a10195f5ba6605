// The parts of a streaming turn that are written with deltas, such as reasoning and tool calls: their input, and how they
// become parts of the turn's content. Each stands where the turn's text ended when the part was opened. Pure.

import type { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import type { OpenContent, OpenPart } from '../../store/sql/turn/streaming/open-content.ts'
import { json } from '../kernel/input.ts'
import { toWholePart, type ContentPart, type streamedPart, type WholePart } from './content.ts'

/** A part without its streamed text, as the property `content` of an OpenPart contains it. */
export type StreamedContent =
  | { type: 'toolCall'; callId: string; name: string }
  | { type: 'toolProgress'; callId: string }
  | { type: 'reasoning'; signature?: string }
  | WholePart

/** The part that a delta belongs to. */
export type DeltaPart = {
  number: number
  /** The part without its streamed text, in the delta that opens it or adds properties to it; null in others. */
  content: Readonly<Record<string, unknown>> | null
  isComplete: boolean
}

/** Returns the part of an OpenPart that was opened by `toDeltaPart`. */
export const streamedContentOf = ({ content }: Pick<OpenPart, 'content'>) => content as StreamedContent

/**
 * Returns the part of a delta that was parsed by `streamedPart`. A part that has no streamed text is complete, and so is
 * signed reasoning.
 */
export function toDeltaPart(given: z.output<typeof streamedPart>): DeltaPart {
  const { number, toolCall, toolProgress, reasoning, isComplete = false } = given
  const whole = toWholePart(given)
  if (whole) return { number, content: whole, isComplete: true }
  if (toolCall) return { number, content: { type: 'toolCall', ...toolCall }, isComplete: isComplete ?? false }
  if (toolProgress)
    return { number, content: { type: 'toolProgress', ...toolProgress }, isComplete: isComplete ?? false }
  const { signature } = reasoning ?? {}
  if (signature) return { number, content: { type: 'reasoning', signature }, isComplete: true }
  return { number, content: reasoning ? { type: 'reasoning' } : null, isComplete: isComplete ?? false }
}

/** Whether deltas add text to the part. */
export const hasText = (content: DeltaPart['content']): boolean =>
  content === null || ['toolCall', 'toolProgress', 'reasoning'].includes((content as StreamedContent).type)

/** Parses the arguments of a tool call; an empty text means no arguments. @throws InvalidInput */
function parseArguments({ number, text }: OpenPart, callId: string): unknown {
  const fail = (why: string) =>
    InvalidInput.at('parts', `must have the tool call ${JSON.stringify(callId)}: the text of part ${number} ${why}`)
  let value: unknown
  try {
    value = text.trim() === '' ? {} : (JSON.parse(text) as unknown)
  } catch {
    throw fail('is not JSON')
  }
  const { error } = json.safeParse(value)
  if (error) throw fail(error.issues[0]!.message)
  return value
}

/**
 * Returns the content part of a streamed part; null if it has none: progress of a tool, and reasoning without text.
 * @throws InvalidInput for a tool call whose arguments are not JSON
 */
function toContentPart(part: OpenPart): ContentPart | null {
  const content = streamedContentOf(part)
  switch (content.type) {
    case 'toolCall':
      return { ...content, arguments: parseArguments(part, content.callId) }
    case 'toolProgress':
      return null
    case 'reasoning':
      return part.text === '' && !content.signature ? null : { ...content, reasoning: part.text }
    default:
      return content
  }
}

/** Returns the text in pieces with the parts between them. `toPart` returns null for a part that is left out. */
function fold({ text, parts }: OpenContent, toPart: (part: OpenPart) => ContentPart | null): ContentPart[] {
  const folded: ContentPart[] = []
  let from = 0
  for (const each of parts) {
    const part = toPart(each)
    if (!part) continue
    if (each.at > from) folded.push({ type: 'text', text: text.slice(from, each.at) })
    from = each.at
    folded.push(part)
  }
  if (text.length > from) folded.push({ type: 'text', text: text.slice(from) })
  return folded
}

/**
 * Returns the content of a committed turn: the streamed content, then the given parts. A given tool call takes the place
 * of the first streamed one with the same callId, and removes others.
 * @param omitIncomplete whether to leave out other tool calls that have not had their last delta
 * @throws InvalidInput if the arguments of a streamed tool call are not JSON
 */
export function committedParts(
  streamed: OpenContent,
  given: readonly ContentPart[],
  omitIncomplete = false,
): ContentPart[] {
  const calls = new Map(given.flatMap((part) => (part.type === 'toolCall' ? [[part.callId, part] as const] : [])))
  const placed = new Set<ContentPart>()
  const folded = fold(streamed, (part) => {
    const content = streamedContentOf(part)
    const call = content.type === 'toolCall' ? calls.get(content.callId) : undefined
    if (!call) return omitIncomplete && content.type === 'toolCall' && !part.isComplete ? null : toContentPart(part)
    if (placed.has(call)) return null
    placed.add(call)
    return call
  })
  return [...folded, ...given.filter((part) => !placed.has(part))]
}

/**
 * Returns the content part of a part of an open turn. Null for progress of a tool, for reasoning without text, and for a
 * tool call whose arguments are not complete or not JSON.
 */
export function liveContentOf(part: OpenPart): ContentPart | null {
  if (streamedContentOf(part).type === 'toolCall' && !part.isComplete) return null
  try {
    return toContentPart(part)
  } catch {
    return null
  }
}

/** Returns the content of an open turn so far. */
export const openParts = (streamed: OpenContent): ContentPart[] => fold(streamed, liveContentOf)

/**
 * Returns the content of an aborted turn: like that of an open turn, but with only those tool calls that a result in the
 * same turn answers, and these results. Nothing can answer the other calls.
 */
export function abortedParts(streamed: OpenContent): ContentPart[] {
  const parts = openParts(streamed)
  const names = new Map<string, string>()
  const kept = new Set<ContentPart>()
  const answered = new Set<string>()
  for (const part of parts) {
    if (part.type === 'toolCall' && !names.has(part.callId)) {
      names.set(part.callId, part.name)
      kept.add(part)
    } else if (part.type === 'toolResult' && !part.callTurnId && names.get(part.callId) === part.name) {
      answered.add(part.callId)
      kept.add(part)
    }
  }
  const isKept = (part: ContentPart) =>
    (part.type !== 'toolCall' && part.type !== 'toolResult') || (kept.has(part) && answered.has(part.callId))
  return parts.filter(isKept)
}
