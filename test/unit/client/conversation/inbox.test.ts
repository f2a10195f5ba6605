// The reducer of the live list of conversations.

import { expect, it } from 'vitest'
import { EMPTY_INBOX, reduceInbox } from '../../../../src/client/conversation/inbox.ts'
import type { InboxEvent, ListedConversation } from '../../../../src/client/generated.ts'

const listed = (id: string, updatedAt: string, viewerUnreadCount = 0) =>
  ({ id, updatedAt, viewerUnreadCount }) as ListedConversation
const event = (reason: InboxEvent['reason'], conversationId: string, conversation: ListedConversation | null) =>
  ({ type: 'event', event: { reason, conversationId, conversation } as InboxEvent }) as const

const LISTED = reduceInbox(EMPTY_INBOX, { type: 'listed', conversations: [listed('a', '2', 1), listed('b', '1')] })

it.each([
  ['a new turn moves its conversation to the front', event('APPENDED', 'b', listed('b', '3', 4)), 'b a', 5],
  ['a conversation that was joined is added', event('ADDED', 'c', listed('c', '3')), 'c a b', 1],
  ['a conversation that was read keeps its position', event('READ', 'a', listed('a', '2')), 'a b', 0],
  ['a conversation that was left is removed', event('REMOVED', 'a', listed('a', '2', 1)), 'b', 0],
  ['a deleted conversation is removed', event('DELETED', 'a', null), 'b', 0],
])('%s', (_, action, ids, unreadCount) => {
  const state = reduceInbox(LISTED, action)
  expect(state.conversations.map(({ id }) => id).join(' ')).toBe(ids)
  expect(state.unreadCount).toBe(unreadCount)
})

it('the removal of a conversation that is not in the list changes nothing', () => {
  expect(reduceInbox(LISTED, event('DELETED', 'z', null))).toBe(LISTED)
})
