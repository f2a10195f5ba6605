// The contract of every conversation store of document 002. `open` returns a store without conversations.

import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  ConversationNotFound,
  IdConflict,
  type Conversation,
  type ConversationMessage,
  type ConversationStore,
} from '../../src/conversation-store/index.ts'
import { nextTime } from '../support/next-time.ts'

const START = Date.UTC(2026, 0, 1)
const at = (second: number) => new Date(START + second * 1000)

const conversation = (more: Partial<Conversation> = {}): Omit<Conversation, 'messageCount'> => ({
  schemaVersion: 1,
  conversationId: randomUUID(),
  userId: 7,
  auditingId: 100,
  agentName: 'helper',
  createdAt: at(0),
  updatedAt: at(0),
  ...more,
})

const message = (
  conversationId: string,
  content: string,
  second = 1,
  more: Partial<ConversationMessage> = {},
): ConversationMessage => ({
  schemaVersion: 1,
  messageId: randomUUID(),
  conversationId,
  role: 'user',
  content,
  timestamp: at(second),
  ...more,
})

const contents = (messages: readonly ConversationMessage[]) => messages.map(({ content }) => content)

export function testConversationStore(name: string, open: () => ConversationStore): void {
  describe(name, () => {
    let store: ConversationStore
    beforeEach(() => {
      store = open()
    })
    const begin = async () => {
      const conv = conversation()
      await store.createConversation(conv)
      return conv.conversationId
    }

    it('creates a conversation without messages, and returns it unchanged', async () => {
      const given = conversation({ title: 'Trip', metadata: { defaultStore: 'north', parameters: { k: [1] } } })
      await store.createConversation(given)
      const { updatedAt, ...fields } = (await store.getConversation(given.conversationId))!
      const { updatedAt: _, ...expected } = given
      expect(fields).toEqual({ ...expected, messageCount: 0 })
      expect(Math.abs(updatedAt.getTime() - Date.now())).toBeLessThan(60_000)
      await expect(store.createConversation(given)).rejects.toThrow(IdConflict)
      expect(await store.getConversation('missing')).toBeNull()
    })

    it('adds messages, counts them, and increases updatedAt', async () => {
      const id = await begin()
      const { updatedAt } = (await store.getConversation(id))!
      await nextTime()
      await store.addMessage(id, message(id, 'Hello?', 1))
      await store.addMessage(id, message(id, 'Hello.', 2, { role: 'assistant' }))
      const after = (await store.getConversation(id))!
      expect(after.messageCount).toBe(2)
      expect(after.updatedAt.getTime()).toBeGreaterThan(updatedAt.getTime())
      expect(after).not.toHaveProperty('messages')
    })

    it('returns messages as they were added: roles, traces, sources, metadata and empty texts', async () => {
      const id = await begin()
      const messages = [
        message(id, 'Be brief.', 1, { role: 'system' }),
        message(id, ' two  spaces\n', 2, { metadata: { channel: 'web' } }),
        message(id, 'See page 3 ✓', 3, {
          role: 'assistant',
          traceId: 'trace-1',
          sources: [{ documentId: 'd1', documentName: 'Manual', chunk: 'page 3', score: 0.5 }, { documentId: 'd2' }],
        }),
        message(id, '', 4, { role: 'assistant' }),
      ]
      for (const each of messages) await store.addMessage(id, each)
      expect(await store.getMessages(id)).toEqual(messages)
    })

    it('fails to add to or update a missing conversation, and reads no messages of it', async () => {
      await expect(store.addMessage('missing', message('missing', 'x'))).rejects.toThrow(ConversationNotFound)
      await expect(store.updateConversation('missing', { title: 'x' })).rejects.toThrow(ConversationNotFound)
      expect(await store.getMessages('missing')).toEqual([])
      await store.deleteConversation('missing')
    })

    it('adds a message once, and rejects its id with different content', async () => {
      const id = await begin()
      const first = message(id, 'first')
      await store.addMessage(id, first)
      await store.addMessage(id, first)
      await expect(store.addMessage(id, { ...first, content: 'changed' })).rejects.toThrow(IdConflict)
      expect(await store.getMessages(id)).toEqual([first])
      expect((await store.getConversation(id))!.messageCount).toBe(1)
    })

    it('returns the newest messages, oldest first, if there is a limit', async () => {
      const id = await begin()
      for (let i = 0; i < 5; i++) await store.addMessage(id, message(id, `message ${i}`, i))
      expect(contents(await store.getMessages(id, { limit: 2 }))).toEqual(['message 3', 'message 4'])
      expect(contents(await store.getMessages(id, { limit: 2, before: at(3) }))).toEqual(['message 1', 'message 2'])
      expect(await store.getMessages(id, { before: at(0) })).toEqual([])
      expect(await store.getMessages(id, { limit: 0 })).toEqual([])
      expect(await store.getMessages(id)).toHaveLength(5)
    })

    it('pages through messages of the same time without a gap, by time and id', async () => {
      const id = await begin()
      const written = ['a', 'b', 'c', 'd', 'e'].map((text) => message(id, text, text === 'e' ? 2 : 1))
      for (const each of written) await store.addMessage(id, each)
      const read: string[] = []
      for (let page = await store.getMessages(id, { limit: 2 }); page.length > 0;) {
        read.unshift(...contents(page))
        const { timestamp: before, messageId: beforeId } = page[0]!
        page = await store.getMessages(id, { limit: 2, before, beforeId })
      }
      expect(read).toEqual(['a', 'b', 'c', 'd', 'e'])
    })

    it('orders messages by their times', async () => {
      const id = await begin()
      for (const second of [3, 1, 2]) await store.addMessage(id, message(id, `at ${second}`, second))
      expect(contents(await store.getMessages(id))).toEqual(['at 1', 'at 2', 'at 3'])
    })

    it('updates the title and replaces the metadata, and keeps the other fields', async () => {
      const given = conversation({ title: 'old', metadata: { a: 1 } })
      await store.createConversation(given)
      await store.updateConversation(given.conversationId, { title: 'new' })
      expect(await store.getConversation(given.conversationId)).toMatchObject({ title: 'new', metadata: { a: 1 } })
      await store.updateConversation(given.conversationId, { metadata: { b: 2 } })
      const { title, metadata, userId, auditingId } = (await store.getConversation(given.conversationId))!
      expect({ title, metadata, userId, auditingId }).toEqual({
        title: 'new',
        metadata: { b: 2 },
        userId: 7,
        auditingId: 100,
      })
    })

    it('lists conversations by user and agent, newest first, 50 by default', async () => {
      for (let i = 0; i < 53; i++) {
        await store.createConversation(conversation({ conversationId: `chat ${i}`, userId: i === 0 ? 8 : 7 }))
      }
      await store.createConversation(conversation({ conversationId: 'other', agentName: 'other agent' }))
      await nextTime()
      await store.addMessage('chat 5', message('chat 5', 'hello'))
      const idsOf = async (filter: Parameters<ConversationStore['listConversations']>[0]) =>
        (await store.listConversations(filter)).map(({ conversationId }) => conversationId)
      const all = await idsOf({})
      expect(all).toHaveLength(50)
      expect(all[0]).toBe('chat 5')
      expect(await idsOf({ userId: 8 })).toEqual(['chat 0'])
      expect(await idsOf({ agentName: 'other agent' })).toEqual(['other'])
      expect(await idsOf({ userId: 8, agentName: 'other agent' })).toEqual([])
      const mine = { userId: 7, agentName: 'helper', limit: 100 }
      const listed = await idsOf(mine)
      expect(listed).toHaveLength(52)
      expect(await idsOf({ ...mine, limit: 5, offset: 48 })).toEqual(listed.slice(48))
    })

    it('deletes a conversation with its messages', async () => {
      const [one, two] = [await begin(), await begin()]
      await store.addMessage(one, message(one, 'gone'))
      await store.addMessage(two, message(two, 'kept'))
      await store.deleteConversation(one)
      expect(await store.getConversation(one)).toBeNull()
      expect(await store.getMessages(one)).toEqual([])
      expect(contents(await store.getMessages(two))).toEqual(['kept'])
      expect((await store.listConversations({})).map(({ conversationId }) => conversationId)).toEqual([two])
    })
  })
}
