// What every provider takes, in one order of things: instructions, words to the model, its own words and calls, and the
// results of those. Each format is made of these steps.
//
// Invariant: each call is answered right after it. Results that came later move up, and a call that nobody answered is
// answered so; providers refuse anything else.

import type { ContentPart } from '../../turn/content.ts'
import { contentOf, type Message } from '../message.ts'

export type Part<Type extends ContentPart['type']> = Extract<ContentPart, { type: Type }>
type Call = Part<'toolCall'>
type Result = Part<'toolResult'>

const words = (text: string): Part<'text'> => ({ type: 'text', text })

/** What a provider takes in one go: instructions, words to the model, its own words and calls, or results of those. */
export type RenderStep =
  | { role: 'system'; text: string }
  | { role: 'user' | 'assistant'; message: Message; parts: ContentPart[] }
  | { role: 'tool'; results: Result[] }

/** Texts in a row are one. */
function append(parts: ContentPart[], part: ContentPart): void {
  const last = parts.at(-1)
  if (last?.type === 'text' && part.type === 'text') parts[parts.length - 1] = words(last.text + part.text)
  else parts.push(part)
}

export function stepsOf(message: Message): RenderStep[] {
  if (message.role === 'SYSTEM') return [{ role: 'system', text: contentOf(message.parts) || shown(message.parts) }]
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

export const callsOf = (step: RenderStep): Call[] =>
  step.role === 'assistant' ? step.parts.filter((part) => part.type === 'toolCall') : []

/** The steps with each call's result right after it: a result is that of the latest call of its id that has none. */
export function answered(steps: readonly RenderStep[]): RenderStep[] {
  const open = new Map<string, Call[]>()
  const results = new Map<Call, Result>()
  for (const step of steps) {
    for (const call of callsOf(step)) open.set(call.callId, [...(open.get(call.callId) ?? []), call])
    for (const result of step.role === 'tool' ? step.results : []) {
      const call = open.get(result.callId)?.pop()
      if (call) results.set(call, result)
    }
  }
  return steps.flatMap((step): RenderStep[] => {
    if (step.role === 'tool') return []
    const calls = callsOf(step)
    return calls.length === 0
      ? [step]
      : [step, { role: 'tool', results: calls.map((call) => results.get(call) ?? noResult(call)) }]
  })
}

/** What a call is answered by that nobody answered. */
export const noResult = ({ callId, name }: Call): Result => ({
  type: 'toolResult',
  callId,
  name,
  result: 'There is no result: the call was not answered.',
})

export const resultText = (result: unknown) => (typeof result === 'string' ? result : JSON.stringify(result))

/** A part that a format has no place for, in words; null where it is better not said. */
export function inWords(part: ContentPart): string | null {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? null : part.text
    case 'data':
      return JSON.stringify(part.data)
    case 'file':
      return `[file: ${part.fileName ? `${part.fileName}, ` : ''}${part.mediaType}, ${part.url}]`
    default:
      return null
  }
}
export const shown = (parts: readonly ContentPart[]) => parts.flatMap((part) => inWords(part) ?? []).join('\n')

/** The parts, with the speaker's name before the first words where the format has no other place for it. */
export function labelled({ message, parts }: { message: Message; parts: ContentPart[] }): ContentPart[] {
  if (!message.labelled || message.name === null) return parts
  const [first, ...rest] = parts
  return first?.type === 'text'
    ? [words(`${message.name}: ${first.text}`), ...rest]
    : [words(`${message.name}:`), ...parts]
}

type Text = { type: 'text'; text: string }

/** The parts as a format has them: as its own block, in words, or not at all. */
export const blocks = <Block>(parts: readonly ContentPart[], block: (part: ContentPart) => Block | string | null) =>
  parts.flatMap((part): (Block | Text)[] => {
    const made = block(part)
    return made === null ? [] : [typeof made === 'string' ? { type: 'text', text: made } : made]
  })

/** A single text is said as such, without a list around it. */
export function plainly<Block extends { type: string }>(content: (Block | Text)[]): string | (Block | Text)[] {
  const [first] = content
  return content.length === 1 && first!.type === 'text' && 'text' in first! ? first.text : content
}
