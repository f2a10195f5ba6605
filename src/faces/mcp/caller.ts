// The client of an MCP request, as the tools, resources and prompts see it.

import type { ConversationEvent, ConversationEventType } from '../../client/generated.ts'
import { kindOf } from '../../domain/kernel/id.ts'
import type { Right } from '../../domain/kernel/rights/principal.ts'
import type { VerbName } from '../verbs.ts'

export type { ConversationEvent }

/** A conversation, by its id or key. */
export type ConversationName = { conversationId: string } | { conversationKey: string }

/** Selects the events of a conversation. */
export type Followed = ConversationName & { afterSeq?: number; types?: readonly ConversationEventType[] }

/** Calls verbs as the authenticated client, with the rights and limits of the GraphQL API. */
export type Caller = {
  /** Id of the only conversation that the credential gives access to; null if there may be several. */
  conversationId: string | null
  /** The rights of the credential; null without authentication, which grants all of them. */
  rights: ReadonlySet<Right> | null
  /** Calls a query or mutation, and returns its answer. @throws VerbFailed */
  call(verb: VerbName, input: Readonly<Record<string, unknown>>): Promise<any>
  /** Yields the events of a conversation until the signal is aborted, or the conversation is deleted. @throws VerbFailed */
  follow(followed: Followed, signal: AbortSignal): AsyncIterable<ConversationEvent>
}

/** Returns the conversation with that id or key. */
export const conversationOf = (name: string): ConversationName =>
  kindOf(name) === 'conversation' ? { conversationId: name } : { conversationKey: name }
