// The types of a context: its messages, and the manifest of included and omitted items.

import type { Role } from '../../../store/generated/enums.ts'
import type { ContentPart } from '../../turn/content.ts'

/** The kinds of messages, one per section of a context. */
export type ItemKind =
  | 'SYSTEM_PROMPT'
  | 'PROFILE'
  | 'FACT'
  | 'SUMMARY'
  | 'PINNED'
  | 'RECENT'
  | 'SHARED_STATE'
  | 'RECALLED'
  | 'ANSWERED'

/** A message, independent of any provider's format. */
export type Message = {
  kind: ItemKind
  role: Role
  /** Name of the actor or of the quoted section, on one line; null for SYSTEM messages, turns of the actor `as`, and the quotation of the turn to answer. */
  name: string | null
  /** Whether formats without a name field put the name before the text. */
  labelled: boolean
  parts: ContentPart[]
  /** Position of the turn, to which results of its tool calls refer; null for messages that are not turns. */
  position: number | null
  /** Ids of the sources: turns, facts, a summary, states, or the users of profiles. Empty for the system prompt. */
  sourceIds: string[]
  /** Why the message is included. */
  reason: string
}

/** An item of the manifest: an included message, or a group of omitted sources. */
export type ContextItem = { kind: ItemKind; sourceIds: string[]; tokenCount: number; included: boolean; reason: string }

/** Manifest reason for a hit that is already in the context. */
export const ALREADY_INCLUDED = 'already in the context'

export type ContextMessage = Message & {
  /** The joined text parts. */
  content: string
  /** Token count in the format that needs the most tokens, including overhead. */
  tokenCount: number
}

/** A context before it is known when it was built. */
export type Assembled = {
  messages: ContextMessage[]
  tokenCount: number
  tokenBudget: number
  /** Whether any requested source in view was omitted and is not covered by an included summary, or one is shortened. */
  truncated: boolean
  items: ContextItem[]
  /**
   * Token count of the messages before the part that depends on the query; without that part, of all messages. The next
   * context usually begins with the same bytes.
   */
  stablePrefixTokens: number
}

export type Context = Assembled & {
  /** Null for a context that was not stored. */
  id: string | null
  /** Time at which it was stored; null for a context that was not stored. */
  createdAt: Date | null
  /** The newest entry of the journal when the context was built. */
  asOfSeq: number
  /**
   * Ids of the sources whose messages a stored context has lost, because the sources were erased or left the view; user
   * ids for profiles. In the order of the messages.
   */
  goneSourceIds: string[]
  /** The facts from which the included profiles were made, by user. Empty for a context that was read. */
  profileFacts: ReadonlyMap<string, readonly string[]>
}

export const contentOf = (parts: readonly ContentPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** Creates a message with one text part. */
export const textMessage = (
  about: Pick<Message, 'kind' | 'role' | 'sourceIds' | 'reason'> & { name?: string },
  text: string,
): Message => ({ name: null, labelled: false, position: null, ...about, parts: [{ type: 'text', text }] })
