// The reducer of the live list of conversations.

import { expect, it } from 'vitest'
import { createInbox, EMPTY_INBOX, reduceInbox } from '../../../../src/client/conversation/inbox.ts'
import type { InboxEvent, ListedConversation } from '../../../../src/client/generated.ts'
import type { Connection } from '../../../../src/client/transport/connection.ts'

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

it('a list that was overtaken by a newer one is ignored, with the events before it', async () => {
  /** The lists that are being read, each with the function that answers it. */
  const reads: ((conversations: ListedConversation[]) => void)[] = []
  const arriving: InboxEvent[] = []
  let wake = () => {}
  let onConnection: (state: 'live') => void = () => {}
  const connection = {
    actor: async () => 'ada',
    report: () => {},
    send: () => new Promise((resolve) => reads.push((nodes) => resolve({ conversations: { nodes } }))),
    async *subscribe(_query: string, _variables: unknown, options: { onConnection: typeof onConnection }) {
      onConnection = options.onConnection
      for (;;) {
        while (arriving.length > 0) yield arriving.shift()!
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  } as unknown as Connection
  const settle = async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve()
  }
  const inbox = createInbox(connection)
  const remove = inbox.subscribe(() => {})
  onConnection('live')
  await settle()
  onConnection('live')
  await settle()
  reads[1]!([listed('a', '2', 1)])
  await settle()
  arriving.push(event('APPENDED', 'b', listed('b', '3', 4)).event)
  wake()
  await settle()
  reads[0]!([listed('a', '1')])
  await settle()
  expect(inbox.get().conversations.map(({ id, updatedAt }) => id + updatedAt)).toEqual(['b3', 'a2'])
  remove()
})
