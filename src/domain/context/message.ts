// What a context is made of: messages as a model is told them, and the manifest of what is in it and what is not.

import type { Role } from '../../store/generated/enums.ts'
import type { ContentPart } from '../turn/content.ts'

/** The sections of a context, in the order they stand in. */
export const ITEM_KINDS = ['SYSTEM_PROMPT', 'PROFILE', 'FACT', 'SUMMARY', 'PINNED', 'RECENT', 'RECALLED'] as const
export type ItemKind = (typeof ITEM_KINDS)[number]

/** A message, before anybody's format. */
export type Message = {
  kind: ItemKind
  role: Role
  /** Whose words they are, on one line; null for instructions and for the model's own words. */
  name: string | null
  /** Whether formats without a field for names say it before the words. */
  labelled: boolean
  parts: ContentPart[]
  /** What it was made of: ids of turns, facts or summaries, or the users of profiles. None for the system prompt. */
  sources: string[]
  /** Why it is here. */
  reason: string
}

/** A line of the manifest: a message, or a group of things that were left out. */
export type ContextItem = { kind: ItemKind; sourceIds: string[]; tokens: number; included: boolean; reason: string }

export type ContextMessage = Message & {
  /** Its text parts joined. */
  content: string
  /** In the rendering that takes most for it, overhead included. */
  tokens: number
}

export type Context = {
  messages: ContextMessage[]
  tokens: number
  tokenBudget: number
  /** Whether something that was asked for, and is in view, is neither in it nor covered by a summary that is. */
  truncated: boolean
  items: ContextItem[]
  /** Of the messages before the recalled text: the next call is expected to begin with the same bytes. */
  stablePrefixTokens: number
}

export const contentOf = (parts: readonly ContentPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** A message of one text. */
export const textMessage = (
  about: Pick<Message, 'kind' | 'role' | 'sources' | 'reason'> & { name?: string },
  text: string,
): Message => ({ name: null, labelled: false, ...about, parts: [{ type: 'text', text }] })
