// The name of a conversation: its id or its key.

import { ColloquyError } from './errors.ts'

/** Identifies a conversation by its id or its key. */
export type ConversationName = { id: string } | { key: string }

/** Returns the variables or input fields that identify the conversation in a subscription or mutation. */
export const fieldsOf = (name: ConversationName): { conversationId?: string; conversationKey?: string } =>
  'id' in name ? { conversationId: name.id } : { conversationKey: name.key }

export const notFound = (name: ConversationName) =>
  new ColloquyError('NOT_FOUND', `There is no conversation ${JSON.stringify(name)}, or it is outside the view.`)
