// The messages of a history: chosen by turns or by budget, and never a tool call without its result.

import { describe, expect, it } from 'vitest'
import { allowedStarts, chooseHistory, startOfTurns } from '../../../src/conversation-core/history.ts'
import {
  BudgetedHistoryBuilder,
  HistoryBudgetTooSmall,
  InMemoryConversationStore,
  RecentNTurnsHistoryBuilder,
  type ConversationMessage,
  type ConversationStore,
  type HistoryBudget,
  type MessageContentPart,
} from '../../../src/conversation-core/index.ts'

const ROLES = { s: 'system', u: 'user', a: 'assistant', c: 'assistant', r: 'tool' } as const
const CONVERSATION = { id: 'chat', createdAt: new Date(0), updatedAt: new Date(0) }

/**
 * Makes messages from words such as `u1 a1 c2 r2`: of the system, the user or the assistant, a tool call, or the result
 * of the call with the same number. The text of a message is its word.
 */
const script = (words: string): ConversationMessage[] =>
  words
    .split(' ')
    .filter(Boolean)
    .map((word, index) => {
      const [kind, id] = [word[0] as keyof typeof ROLES, word.slice(1)]
      const part: MessageContentPart =
        kind === 'c'
          ? { type: 'tool-call', id, name: 'look', arguments: {} }
          : kind === 'r'
            ? { type: 'tool-result', id, name: 'look', result: word }
            : { type: 'text', text: word }
      return { id: word, conversationId: 'chat', role: ROLES[kind], createdAt: new Date(index), content: [part] }
    })
const wordsOf = (messages: readonly ConversationMessage[]) => messages.map(({ id }) => id).join(' ')

describe('startOfTurns', () => {
  it.each([
    ['u1 a1 u2 a2 u3 a3', 1, 'u3 a3'],
    ['u1 a1 u2 a2 u3 a3', 2, 'u2 a2 u3 a3'],
    ['u1 a1 u2 a2', 5, 'u1 a1 u2 a2'],
    ['u1 a1 u2 a2', 0, ''],
    ['s1 u1 a1 u2 v2 a2'.replace('v2', 'u9'), 1, 'u2 u9 a2'],
    ['s1 u1 a1', 1, 's1 u1 a1'],
    ['u1 c1 r1 a1 u2 a2', 2, 'u1 c1 r1 a1 u2 a2'],
    ['a0 u1 a1', 1, 'u1 a1'],
  ])('of %j finds the newest %i turns', (words, maxTurns, expected) => {
    const messages = script(words)
    expect(wordsOf(messages.slice(startOfTurns(messages, maxTurns)))).toBe(expected)
  })
})

describe('allowedStarts', () => {
  it.each([
    ['u1 a1', [0, 1, 2]],
    ['u1 c1 r1 a1', [0, 1, 3, 4]],
    ['c1 c2 u1 r2 r1 a1', [0, 5, 6]],
    ['c1 u1 r9', [0, 1, 2, 3]],
  ])('of %j are outside pairs of calls and results', (words, expected) => {
    const starts = allowedStarts(script(words))
    expect(starts.flatMap((isAllowed, index) => (isAllowed ? [index] : []))).toEqual(expected)
  })
})

/** The words of u1 to u9 have 2 characters each. */
const CASES: [title: string, older: string, fresh: string, budget: HistoryBudget, expected: string][] = [
  ['takes everything without a budget', 's1 u1 a1', 'u2', {}, 's1 u1 a1 u2'],
  ['counts the new messages', 'u1 a1', 'u2', { maxMessages: 2 }, 'a1 u2'],
  ['drops the oldest first', 'u1 a1 u2 a2', 'u3', { maxMessages: 4 }, 'a1 u2 a2 u3'],
  ['counts the characters of texts', 'u1 a1 u2 a2', 'u3', { maxChars: 7 }, 'u2 a2 u3'],
  ['counts tokens', 'u1 a1 u2 a2', 'u3', { maxTokens: 30 }, 'u2 a2 u3'],
  ['obeys the strictest limit', 'u1 a1 u2 a2', 'u3', { maxMessages: 4, maxChars: 4 }, 'a2 u3'],
  ['keeps system messages of any age', 's1 u1 a1 s2 u2 a2', 'u3', { maxMessages: 4 }, 's1 s2 a2 u3'],
  ['does not begin with a result', 'u1 c1 r1 a1', 'u2', { maxMessages: 3 }, 'a1 u2'],
  ['takes a call with its result', 'u1 c1 r1 a1', 'u2', { maxMessages: 4 }, 'c1 r1 a1 u2'],
  ['keeps the call that a new message answers', 'u1 a1 u2 c2 a2', 'r2', { maxMessages: 3 }, 'c2 a2 r2'],
  ['takes all of parallel calls, or none', 'u1 c1 c2 r2 r1', 'u2', { maxMessages: 4 }, 'u2'],
]

describe('chooseHistory', () => {
  it.each(CASES)('%s', async (_, older, fresh, budget, expected) => {
    const countTokens = () => 10
    const [before, after] = [script(older), script(fresh)]
    const choice = { older: before, fresh: after, budget, countTokens, keepSystem: true }
    const { messages, truncated } = await chooseHistory(choice)
    expect(wordsOf(messages)).toBe(expected)
    expect(truncated).toBe(messages.length < before.length + after.length)
  })

  it.each([
    ['maxMessages', { maxMessages: 1 }, 2],
    ['maxChars', { maxChars: 3 }, 4],
    ['maxTokens', { maxTokens: 3 }, 8],
  ] as const)('fails if the new messages exceed %s', async (limit, budget, required) => {
    const [older, fresh] = [script('u1'), script('u2 u3')]
    const choice = { older, fresh, budget, countTokens: async () => 4, keepSystem: true }
    const failure = await chooseHistory(choice).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(HistoryBudgetTooSmall)
    expect(failure).toMatchObject({ limit, required })
  })

  it('never exceeds the budget, splits a pair or leaves a gap, for 15 budgets', async () => {
    const older = script('s0 u1 c1 u2 r1 a1 u3 c3 c4 r4 r3 a3 u5 a5')
    const fresh = script('u6')
    for (let maxMessages = 2; maxMessages <= 16; maxMessages++) {
      const choice = { older, fresh, budget: { maxMessages }, countTokens: () => 1, keepSystem: true }
      const { messages } = await chooseHistory(choice)
      expect(messages.length).toBeLessThanOrEqual(maxMessages)
      const words = wordsOf(messages).split(' ')
      for (const id of ['1', '3', '4']) expect(words.includes(`c${id}`)).toBe(words.includes(`r${id}`))
      const [system, ...rest] = words
      expect(system).toBe('s0')
      expect(wordsOf([...older, ...fresh]).endsWith(rest.join(' '))).toBe(true)
    }
  })
})

describe('the builders', () => {
  const storeOf = async (words: string): Promise<ConversationStore> => {
    const store = new InMemoryConversationStore()
    await store.createConversation({ id: 'chat' })
    await store.appendMessages(script(words))
    return store
  }
  const build = async (
    builder: BudgetedHistoryBuilder | RecentNTurnsHistoryBuilder,
    store: ConversationStore,
    words: string,
    budget?: HistoryBudget,
  ) => {
    const newUserMessages = script(words)
    const request = { conversation: CONVERSATION, store, newUserMessages, ...(budget && { budget }) }
    const { messages, truncated } = await builder.buildHistory(request)
    return [wordsOf(messages), truncated]
  }

  it('add the new messages once, whether or not they are stored', async () => {
    const recent = new RecentNTurnsHistoryBuilder({ maxTurns: 1 })
    expect(await build(recent, await storeOf('u1 a1 u2 a2'), 'u3')).toEqual(['u2 a2 u3', true])
    expect(await build(recent, await storeOf('u1 a1 u2 a2 u3'), 'u3')).toEqual(['u2 a2 u3', true])
    expect(await build(recent, await storeOf('u1 a1'), 'u2')).toEqual(['u1 a1 u2', false])
    expect(await build(recent, await storeOf(''), 'u1')).toEqual(['u1', false])
  })

  it('apply the budget of the request, or their own if the request has none', async () => {
    const store = await storeOf('s1 u1 a1 u2 a2')
    const recent = new RecentNTurnsHistoryBuilder({ maxTurns: 9 })
    expect(await build(recent, store, 'u3', { maxMessages: 2 })).toEqual(['a2 u3', true])
    const budgeted = new BudgetedHistoryBuilder({ budget: { maxMessages: 3 } })
    expect(await build(budgeted, store, 'u3')).toEqual(['s1 a2 u3', true])
    expect(await build(budgeted, store, 'u3', { maxMessages: 4 })).toEqual(['s1 u2 a2 u3', true])
    expect(await build(new BudgetedHistoryBuilder(), store, 'u3')).toEqual(['s1 u1 a1 u2 a2 u3', false])
  })

  it('estimate one token per 4 characters, unless they have a token counter', async () => {
    const store = await storeOf('u1 a1 u2 a2')
    expect(await build(new BudgetedHistoryBuilder(), store, 'u3', { maxTokens: 2 })).toEqual(['a2 u3', true])
    const counting = new BudgetedHistoryBuilder({ countTokens: async (text) => text.length })
    expect(await build(counting, store, 'u3', { maxTokens: 8 })).toEqual(['a1 u2 a2 u3', true])
  })

  it('read only the newest messages of a long conversation, if the store guarantees LIMIT_IS_NEWEST', async () => {
    const words = Array.from({ length: 500 }, (_, i) => `u${i} a${i}`).join(' ')
    const store = await storeOf(words)
    const limits: (number | undefined)[] = []
    const observed = (guarantees: ConversationStore['guarantees']) =>
      ({
        guarantees,
        listMessages: (id, options) => (limits.push(options?.limit), store.listMessages(id, options)),
      }) as Pick<ConversationStore, 'guarantees' | 'listMessages'> as ConversationStore
    const recent = new RecentNTurnsHistoryBuilder({ maxTurns: 40 })
    const newest = await build(recent, observed(['LIMIT_IS_NEWEST']), 'u900')
    expect(limits).toEqual([64, 256])
    expect(await build(recent, observed(undefined), 'u900')).toEqual(newest)
    expect(limits).toEqual([64, 256, undefined])
    expect(String(newest[0]).split(' ')).toHaveLength(81)
  })
})
