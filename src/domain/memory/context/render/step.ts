// Converts messages into steps. Every format is rendered from steps.
//
// Providers require that each call is followed by its result. `pairCallsWithResults` moves later results to their call,
// and adds a placeholder after a call without a result.

import { fileAsText } from '../../../../providers/message-parts.ts'
import type { ContentPart } from '../../../turn/content.ts'
import { contentOf, type Message } from '../message.ts'
import { callKey } from '../perspective.ts'

export type Part<Type extends ContentPart['type']> = Extract<ContentPart, { type: Type }>
export type Call = Part<'toolCall'>
export type Result = Part<'toolResult'>

const textPart = (text: string): Part<'text'> => ({ type: 'text', text })

/**
 * One step: `system`, instructions; `user`, a message to the model; `assistant`, text and calls by the model; `tool`,
 * results of its calls.
 */
export type RenderStep =
  | { role: 'system'; message: Message; text: string }
  | { role: 'user' | 'assistant'; message: Message; parts: ContentPart[] }
  | { role: 'tool'; results: Result[] }

/** Appends a part; joins adjacent text parts. */
function append(parts: ContentPart[], part: ContentPart): void {
  const last = parts.at(-1)
  if (last?.type === 'text' && part.type === 'text') parts[parts.length - 1] = textPart(last.text + part.text)
  else parts.push(part)
}

/** Splits a message into steps: a new step starts where tool results begin or end. */
export function stepsOf(message: Message): RenderStep[] {
  if (message.role === 'SYSTEM') {
    return [{ role: 'system', message, text: contentOf(message.parts) || textOf(message.parts) }]
  }
  const role = message.role === 'ASSISTANT' ? 'assistant' : 'user'
  const steps: RenderStep[] = []
  for (const part of message.parts) {
    const last = steps.at(-1)
    if (part.type === 'toolResult') {
      if (last?.role === 'tool') last.results.push(part)
      else steps.push({ role: 'tool', results: [part] })
    } else if (last?.role === role) append(last.parts, part)
    else steps.push({ role, message, parts: [part] })
  }
  return steps
}

const positionOf = (step: RenderStep) => ('message' in step ? step.message.position : null)

export const callsOf = (step: RenderStep): Call[] =>
  step.role === 'assistant' ? step.parts.filter((part) => part.type === 'toolCall') : []

/** Returns the result of each call: a later result that names the call's callId and the position of the call's turn. */
export function resultsByCall(steps: readonly RenderStep[]): Map<Call, Result> {
  const open = new Map<string, Call[]>()
  const results = new Map<Call, Result>()
  for (const step of steps) {
    for (const call of callsOf(step)) {
      const key = callKey(positionOf(step), call.callId)
      open.set(key, [...(open.get(key) ?? []), call])
    }
    for (const result of step.role === 'tool' ? step.results : []) {
      const call = open.get(callKey(result.callPosition, result.callId))?.pop()
      if (call) results.set(call, result)
    }
  }
  return results
}

/** Moves the result of each call directly after the call. Drops other results. */
export function pairCallsWithResults(steps: readonly RenderStep[]): RenderStep[] {
  const results = resultsByCall(steps)
  return steps.flatMap((step): RenderStep[] => {
    if (step.role === 'tool') return []
    const calls = callsOf(step)
    return calls.length === 0
      ? [step]
      : [step, { role: 'tool', results: calls.map((call) => results.get(call) ?? noResult(call)) }]
  })
}

/** Returns the placeholder for the missing result of a call. */
export const noResult = ({ callId, name }: Call): Result => ({
  type: 'toolResult',
  callId,
  name,
  result: 'There is no result: the call was not answered.',
})

export const resultText = (result: unknown) => (typeof result === 'string' ? result : JSON.stringify(result))

/** Converts a part that the format does not support into text; returns null for a part to leave out. */
export function toText(part: ContentPart): string | null {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? null : part.text
    case 'data':
      return JSON.stringify(part.data)
    case 'file':
      return fileAsText(part)
    case 'source':
      return `[source: ${part.title ? `${part.title}, ` : ''}${part.url}]`
    default:
      return null
  }
}

/** Returns the parts as text, one line for each that is not left out. */
export const textOf = (parts: readonly ContentPart[]) => parts.flatMap((part) => toText(part) ?? []).join('\n')

/** Returns the parts with the participant's name before the first part, for formats without a name field. */
export function labelled({ message, parts }: { message: Message; parts: ContentPart[] }): ContentPart[] {
  if (!message.labelled || message.name === null) return parts
  const [first, ...rest] = parts
  return first?.type === 'text'
    ? [textPart(`${message.name}: ${first.text}`), ...rest]
    : [textPart(`${message.name}:`), ...parts]
}

type Text = { type: 'text'; text: string }

/** Converts parts to a format's blocks. `block` returns the format's block, a text, or null to leave the part out. */
export const blocks = <Block>(parts: readonly ContentPart[], block: (part: ContentPart) => Block | string | null) =>
  parts.flatMap((part): (Block | Text)[] => {
    const converted = block(part)
    return converted === null ? [] : [typeof converted === 'string' ? { type: 'text', text: converted } : converted]
  })

/** Returns a single text block as a string; returns other content unchanged. */
export function unwrapText<Block extends { type: string }>(content: (Block | Text)[]): string | (Block | Text)[] {
  const [first] = content
  return content.length === 1 && first!.type === 'text' && 'text' in first! ? first.text : content
}
