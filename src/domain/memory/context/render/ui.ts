// Renders messages for the user interface of Vercel's AI SDK (`UIMessage`, the messages of `useChat`).
//
// Invariant: each message becomes one UI message with a stable id, except that tool results are in the part of their
// call. The text of a turn contains no name; the name of its actor is in `metadata`.

import { isFetchable } from '../../../../providers/message-parts.ts'
import type { ContentPart } from '../../../turn/content.ts'
import type { ItemKind, Message } from '../message.ts'
import { signatureOf } from './ai-sdk.ts'
import { blocks, resultsByCall, stepsOf, toText, type Call, type RenderStep, type Result } from './step.ts'

type Text = { type: 'text'; text: string }
type ToolCall = { type: 'dynamic-tool'; toolName: string; toolCallId: string; input: unknown }
type UiPart =
  | Text
  | { type: 'reasoning'; text: string; providerMetadata?: { anthropic: { signature: string } } }
  | { type: 'file'; mediaType: string; filename?: string; url: string }
  | { type: 'source-url'; sourceId: string; url: string; title?: string }
  | (ToolCall & { state: 'input-available' })
  | (ToolCall & { state: 'output-available'; output: unknown })
  | { type: 'data-json'; data: unknown }
  | { type: 'step-start' }

export type UiMessage = {
  /** Id of the turn or of the summary; for the other sections, the name of the section. */
  id: string
  role: 'system' | 'user' | 'assistant'
  /** `name`: the name of the actor or the quoted section; null for system messages and for turns of the actor `as`. */
  metadata: { kind: ItemKind; name: string | null }
  parts: UiPart[]
}

/** Ids of the messages of sections that have at most one message. Such a message may have several sources, or none. */
const SECTION_IDS: Partial<Record<ItemKind, string>> = {
  SYSTEM_PROMPT: 'system',
  PROFILE: 'profile',
  FACT: 'facts',
  SHARED_STATE: 'state',
  RECALLED: 'recall',
  ANSWERED: 'answered',
}

const toUiPart =
  (results: ReadonlyMap<Call, Result>) =>
  (part: ContentPart): UiPart | string | null => {
    switch (part.type) {
      case 'toolCall': {
        const call = { type: 'dynamic-tool', toolName: part.name, toolCallId: part.callId } as const
        const result = results.get(part)
        return result
          ? { ...call, state: 'output-available', input: part.arguments, output: result.result }
          : { ...call, state: 'input-available', input: part.arguments }
      }
      case 'reasoning': {
        const signature = signatureOf(part)
        return { type: 'reasoning', text: part.reasoning, ...(signature && { providerMetadata: signature }) }
      }
      case 'file':
        return isFetchable(part)
          ? {
              type: 'file',
              mediaType: part.mediaType,
              ...(part.fileName ? { filename: part.fileName } : null),
              url: part.url,
            }
          : toText(part)
      case 'source':
        return { type: 'source-url', sourceId: part.url, url: part.url, ...(part.title ? { title: part.title } : null) }
      case 'data':
        return { type: 'data-json', data: part.data }
      default:
        return toText(part)
    }
  }

/** Renders one step. Calls without a result in the map have the state `input-available`. */
export function toUiParts(
  step: Exclude<RenderStep, { role: 'system' | 'tool' }>,
  results: ReadonlyMap<Call, Result> = new Map(),
): UiPart[] {
  return blocks(step.parts, toUiPart(results))
}

/** Renders all messages. Leaves out messages without content, for example those with only tool results. */
export function toUiMessages(messages: readonly Message[]): UiMessage[] {
  const stepsByMessage = messages.map(stepsOf)
  const results = resultsByCall(stepsByMessage.flat())
  const ids = new Set<string>()
  return messages.flatMap((message, index): UiMessage[] => {
    const parts: UiPart[] = []
    let role: UiMessage['role'] = 'user'
    for (const step of stepsByMessage[index]!) {
      if (step.role === 'tool') continue
      role = step.role
      const added: UiPart[] = step.role === 'system' ? [{ type: 'text', text: step.text }] : toUiParts(step, results)
      if (role === 'assistant' && parts.length > 0 && added.length > 0) parts.push({ type: 'step-start' })
      parts.push(...added)
    }
    const { kind, name, sourceIds } = message
    if (parts.length === 0) return []
    const section = SECTION_IDS[kind]
    // There may be two messages of facts.
    const id = section === undefined ? sourceIds[0]! : ids.has(section) ? `${section}-2` : section
    ids.add(id)
    return [{ id, role, metadata: { kind, name }, parts }]
  })
}
