// Selects the messages of a page of getMessages, and limits the conversations that listConversations returns. Pure.

import { inTimeOrder } from '../transcript/same.ts'
import type { ConversationMessage, MessageQueryOptions } from './types.ts'

/** Number of conversations that listConversations returns by default. */
export const DEFAULT_CONVERSATIONS = 50

export type MessagePage = {
  /** Adds the next older message if it belongs to the page. Returns whether the page is full. */
  take(message: ConversationMessage): boolean
  /** The messages of the page, in ascending order of their times. */
  messages(): ConversationMessage[]
}

/** Collects a page from messages that are passed to `take` in the reverse of the order in which they were added. */
export function collectPage({ limit = Infinity, before, beforeId }: MessageQueryOptions): MessagePage {
  const newestFirst: ConversationMessage[] = []
  let isPassed = false
  return {
    take(message) {
      const at = message.timestamp.getTime()
      const isBefore = before === undefined || at < before.getTime() || (at === before.getTime() && isPassed)
      if (isBefore && newestFirst.length < limit) newestFirst.push(message)
      if (message.messageId === beforeId) isPassed = true
      return newestFirst.length >= limit
    },
    messages: () => inTimeOrder(newestFirst.toReversed(), ({ timestamp }) => timestamp),
  }
}
