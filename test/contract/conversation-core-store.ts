// The contract of every conversation store of document 003, "Agent Conversation Core" (docs/library.md). `open` returns
// a store without conversations.

import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  ConversationNotFound,
  IdConflict,
  type ConversationMessage,
  type ConversationStore,
  type ConversationTurn,
  type MessageContentPart,
} from '../../src/conversation-core/index.ts'
import { nextTime } from '../support/next-time.ts'

const START = Date.UTC(2026, 0, 1)

/** Creates a message with a time `second` seconds after the start. */
function message(
  conversationId: string,
  role: ConversationMessage['role'],
  content: string | MessageContentPart[],
  second = 0,
): ConversationMessage {
  return {
    id: randomUUID(),
    conversationId,
    role,
    createdAt: new Date(START + second * 1000),
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  }
}

const call = (name: string, id?: string): MessageContentPart => ({
  type: 'tool-call',
  ...(id !== undefined && { id }),
  name,
  arguments: { city: 'Oslo' },
})
const result = (name: string, value: unknown, id?: string): MessageContentPart => ({
  type: 'tool-result',
  ...(id !== undefined && { id }),
  name,
  result: value,
})

const textsOf = (messages: readonly ConversationMessage[]) =>
  messages.map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : part.type)).join(' '))

export function testConversationCoreStore(name: string, open: () => ConversationStore): void {
  describe(name, () => {
    let store: ConversationStore
    beforeEach(() => {
      store = open()
    })
    const begin = async () => (await store.createConversation({})).id

    testConversations(() => store)

    it('returns messages as they were written, with every part, time and metadata', async () => {
      const id = await begin()
      const messages: ConversationMessage[] = [
        { ...message(id, 'system', 'Be brief.'), metadata: { source: 'settings', tags: ['a'] } },
        message(id, 'user', [
          { type: 'text', text: 'one ' },
          { type: 'text', text: ' two\n' },
          { type: 'metadata', data: { hint: null } },
        ]),
        message(id, 'assistant', [{ type: 'text', text: 'Let me look.' }, call('weather', 'call-1')]),
        message(id, 'tool', [result('weather', { degrees: 7, sky: 'clear' }, 'call-1')]),
        message(id, 'assistant', '7 degrees 🌤'),
        message(id, 'user', [{ type: 'metadata', data: null }]),
      ]
      await store.appendMessages(messages)
      expect(await store.listMessages(id)).toEqual(messages)
    })

    it('keeps messages without text', async () => {
      const id = await begin()
      const messages = [message(id, 'assistant', ''), message(id, 'assistant', []), message(id, 'user', ' \n')]
      await store.appendMessages(messages)
      expect(await store.listMessages(id)).toEqual(messages)
    })

    it('keeps tool calls and results that have no ids', async () => {
      const id = await begin()
      const calls = message(id, 'assistant', [call('weather'), call('weather'), call('time')])
      const results = [
        message(id, 'tool', [result('weather', 1), result('time', null)]),
        message(id, 'tool', [result('weather', 2)]),
      ]
      await store.appendMessages([calls])
      for (const each of results) await store.appendMessages([each])
      await store.appendMessages([calls, ...results])
      const listed = await store.listMessages(id)
      expect(listed).toMatchObject([calls, ...results])
      expect(listed).toHaveLength(3)
    })

    it('keeps a result without a matching call', async () => {
      const id = await begin()
      const orphan = message(id, 'tool', [result('weather', { degrees: 7 }, 'call-9'), result('time', 'noon')])
      await store.appendMessages([orphan])
      await store.appendMessages([orphan])
      expect(await store.listMessages(id)).toEqual([orphan])
    })

    it('lists messages by time, and messages of the same time in the order of their arrival', async () => {
      const id = await begin()
      await store.appendMessages([message(id, 'user', 'third', 3), message(id, 'user', 'first', 1)])
      await store.appendMessages([message(id, 'assistant', 'second', 2), message(id, 'assistant', 'also third', 3)])
      for (const ascending of [true, false, undefined]) {
        const listed = await store.listMessages(id, { ascending: ascending as boolean })
        expect(textsOf(listed)).toEqual(['first', 'second', 'third', 'also third'])
      }
    })

    it('lists the newest messages, oldest first, if there is a limit', async () => {
      const id = await begin()
      await store.appendMessages(Array.from({ length: 120 }, (_, i) => message(id, 'user', `message ${i}`, i)))
      expect(textsOf(await store.listMessages(id, { limit: 2 }))).toEqual(['message 118', 'message 119'])
      expect(await store.listMessages(id, { limit: 0 })).toEqual([])
      expect(await store.listMessages(id, { limit: 500 })).toHaveLength(120)
      expect(textsOf(await store.listMessages(id, { limit: 110 }))[0]).toBe('message 10')
      expect(await store.listMessages(id)).toHaveLength(120)
    })

    it('skips messages that are already stored, and rejects a used id with different content', async () => {
      const id = await begin()
      const [first, second] = [message(id, 'user', 'first', 1), message(id, 'user', 'second', 2)]
      await store.appendMessages([first])
      await store.appendMessages([first, second, second])
      const changed = { ...first, content: [{ type: 'text' as const, text: 'changed' }] }
      const third = message(id, 'user', 'third', 3)
      await expect(store.appendMessages([third, changed])).rejects.toThrow(IdConflict)
      await expect(store.appendMessages([third, changed])).rejects.toThrow(JSON.stringify(first.id))
      expect(textsOf(await store.listMessages(id))).toEqual(['first', 'second'])
    })

    it('appends messages of several conversations, or none if one is missing', async () => {
      const [one, two] = [await begin(), await begin()]
      await store.appendMessages([message(one, 'user', 'to one'), message(two, 'user', 'to two')])
      expect(textsOf(await store.listMessages(one))).toEqual(['to one'])
      expect(textsOf(await store.listMessages(two))).toEqual(['to two'])
      const lost = [message(one, 'user', 'more'), message('missing', 'user', 'lost')]
      await expect(store.appendMessages(lost)).rejects.toThrow(ConversationNotFound)
      expect(textsOf(await store.listMessages(one))).toEqual(['to one'])
      await store.appendMessages([])
    })

    it('is not affected when a caller changes a message that it passed or received', async () => {
      const id = await begin()
      const given = message(id, 'user', [{ type: 'metadata', data: { tags: ['a'] } }])
      await store.appendMessages([given])
      const change = ({ content: [part] }: ConversationMessage) =>
        (part as { data: { tags: string[] } }).data.tags.push('b')
      change(given)
      change((await store.listMessages(id))[0]!)
      expect((await store.listMessages(id))[0]!.content).toEqual([{ type: 'metadata', data: { tags: ['a'] } }])
    })

    testTurns(() => store)
  })
}

function testConversations(opened: () => ConversationStore): void {
  it('creates a conversation with the given or a new id', async () => {
    const store = opened()
    const given = { id: 'chat/1 ✓', title: 'Trip', metadata: { topic: 'travel', labels: ['x'] } }
    const created = await store.createConversation(given)
    expect(created).toMatchObject(given)
    expect(created.createdAt).toBeInstanceOf(Date)
    expect(created.updatedAt.getTime()).toBeGreaterThanOrEqual(created.createdAt.getTime())
    expect(await store.getConversation('chat/1 ✓')).toEqual(created)
    const [one, two] = [await store.createConversation({}), await store.createConversation({})]
    expect(one.id).not.toBe(two.id)
    expect(await store.getConversation(one.id)).toEqual(one)
    expect(one).not.toHaveProperty('title')
  })

  it('rejects a conversation with an id that is used', async () => {
    const store = opened()
    await store.createConversation({ id: 'chat', title: 'first' })
    await expect(store.createConversation({ id: 'chat', title: 'second' })).rejects.toThrow(IdConflict)
    expect((await store.getConversation('chat'))?.title).toBe('first')
  })

  it('returns null for a missing conversation, and fails to read or write its messages', async () => {
    const store = opened()
    expect(await store.getConversation('missing')).toBeNull()
    expect(await store.updateConversation('missing', { title: 'x' })).toBeNull()
    await expect(store.listMessages('missing')).rejects.toThrow(ConversationNotFound)
    await expect(store.listTurns('missing')).rejects.toThrow(ConversationNotFound)
    await expect(store.appendMessages([message('missing', 'user', 'hello')])).rejects.toThrow(ConversationNotFound)
    await expect(store.appendTurn(turnOf('missing', []))).rejects.toThrow(ConversationNotFound)
  })

  it('updates the title and replaces the metadata, and keeps omitted fields', async () => {
    const store = opened()
    const { id, updatedAt } = await store.createConversation({ title: 'old', metadata: { a: 1, b: 2 } })
    await nextTime()
    const renamed = await store.updateConversation(id, { title: 'new' })
    expect(renamed).toMatchObject({ id, title: 'new', metadata: { a: 1, b: 2 } })
    expect(renamed!.updatedAt.getTime()).toBeGreaterThan(updatedAt.getTime())
    expect((await store.updateConversation(id, { metadata: { c: 3 } }))!.metadata).toEqual({ c: 3 })
    await nextTime()
    const touched = await store.updateConversation(id, {})
    expect(touched).toMatchObject({ title: 'new', metadata: { c: 3 } })
    expect(touched!.updatedAt.getTime()).toBeGreaterThan(renamed!.updatedAt.getTime())
    expect(await store.getConversation(id)).toEqual(touched)
  })

  it('lists conversations by the time of their last write, 50 by default', async () => {
    const store = opened()
    for (let i = 0; i < 52; i++) await store.createConversation({ id: `chat ${i}` })
    await nextTime()
    await store.appendMessages([message('chat 7', 'user', 'hello')])
    const listed = await store.listConversations()
    expect(listed).toHaveLength(50)
    expect(listed[0]!.id).toBe('chat 7')
    const times = listed.map(({ updatedAt }) => updatedAt.getTime())
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    const seen = new Set<string>()
    for (let page = await store.listConversations({ limit: 20 }); page.length > 0;) {
      for (const { id } of page) seen.add(id)
      const { updatedAt: before, id: beforeId } = page.at(-1)!
      page = await store.listConversations({ limit: 20, before, beforeId })
    }
    expect(seen.size).toBe(52)
    const { updatedAt: before } = listed[0]!
    const older = await store.listConversations({ before })
    expect(older.map(({ id }) => id)).not.toContain('chat 7')
  })
}

function turnOf(conversationId: string, messages: ConversationMessage[]): ConversationTurn {
  const ofRole = (role: string) => messages.filter((each) => each.role === role)
  return {
    id: randomUUID(),
    conversationId,
    createdAt: new Date(START + 5000),
    userMessages: ofRole('user'),
    assistantMessages: ofRole('assistant'),
    providerCalls: [
      {
        id: randomUUID(),
        createdAt: new Date(START + 4000),
        metadata: { provider: 'echo', model: 'echo-1', extensions: { 'ai.operation': 'chat' } },
        usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
      },
    ],
    metadata: { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } },
  }
}

function testTurns(opened: () => ConversationStore): void {
  it('stores a turn, and its messages that are not stored yet', async () => {
    const store = opened()
    const { id, updatedAt } = await store.createConversation({})
    const [question, answer] = [message(id, 'user', 'Hello?', 1), message(id, 'assistant', 'Hello.', 2)]
    await store.appendMessages([question])
    await nextTime()
    const turn = turnOf(id, [question, answer])
    await store.appendTurn(turn)
    expect(await store.listTurns(id)).toEqual([turn])
    expect(await store.listMessages(id)).toEqual([question, answer])
    expect((await store.getConversation(id))!.updatedAt.getTime()).toBeGreaterThan(updatedAt.getTime())
    await store.appendMessages([answer])
    await store.appendTurn(turn)
    expect(await store.listTurns(id)).toEqual([turn])
    expect(await store.listMessages(id)).toHaveLength(2)
  })

  it('stores nothing of a turn if one of its messages conflicts', async () => {
    const store = opened()
    const { id } = await store.createConversation({})
    const question = message(id, 'user', 'Hello?', 1)
    await store.appendMessages([question])
    const changed = { ...question, content: [{ type: 'text' as const, text: 'Goodbye?' }] }
    const turn = turnOf(id, [changed, message(id, 'assistant', 'Hello.', 2)])
    await expect(store.appendTurn(turn)).rejects.toThrow(IdConflict)
    expect(await store.listMessages(id)).toEqual([question])
    expect(await store.listTurns(id)).toEqual([])
  })

  it('lists turns in the order of their arrival, with tool messages, and rejects a used id', async () => {
    const store = opened()
    const { id } = await store.createConversation({})
    const asked = turnOf(id, [message(id, 'user', 'Weather?', 1), message(id, 'assistant', [call('weather', 'c1')], 2)])
    const results = [message(id, 'tool', [result('weather', 7, 'c1')], 3)]
    const answered = { ...turnOf(id, [message(id, 'assistant', '7 degrees', 4)]), toolMessages: results }
    const empty = turnOf(id, [])
    await store.appendMessages(results.slice(0, 0))
    for (const turn of [asked, answered, empty]) await store.appendTurn(turn)
    expect(await store.listTurns(id)).toEqual([asked, answered, empty])
    expect(textsOf(await store.listMessages(id))).toEqual(['Weather?', 'tool-call', 'tool-result', '7 degrees'])
    const other = { ...asked, metadata: { other: true } }
    await expect(store.appendTurn(other)).rejects.toThrow(IdConflict)
  })
}
