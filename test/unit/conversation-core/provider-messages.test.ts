// Conversion of messages for providers: every tool call is followed by its result.

import { describe, expect, it } from 'vitest'
import { contentOfReply, toProviderMessages } from '../../../src/conversation-core/provider-messages.ts'
import { pairToolResults } from '../../../src/conversation-core/tool-pairs.ts'
import type { ConversationMessage, MessageContentPart, MessageRole } from '../../../src/conversation-core/index.ts'

const says = (role: MessageRole, ...content: MessageContentPart[]): ConversationMessage => ({
  id: `${role} ${JSON.stringify(content)}`,
  conversationId: 'chat',
  role,
  createdAt: new Date(0),
  content,
})
const text = (value: string): MessageContentPart => ({ type: 'text', text: value })
const call = (name: string, id?: string): MessageContentPart => ({
  type: 'tool-call',
  ...(id && { id }),
  name,
  arguments: {},
})
const result = (name: string, value: unknown, id?: string): MessageContentPart => ({
  type: 'tool-result',
  ...(id && { id }),
  name,
  result: value,
})

/** Prints provider messages as lines: the role, then texts, calls as `id?` and results as `id=value`. */
const lines = (messages: ConversationMessage[]) =>
  toProviderMessages(messages).map(({ role, content }) =>
    [
      role,
      ...content.map((part) => {
        const { type, text: value, id, result: answer } = part as Record<string, unknown>
        if (type === 'text') return value
        return type === 'tool-call' ? `${id}?` : `${id}=${answer}`
      }),
    ].join(' '),
  )
const NONE = 'There is no result: the call was not answered.'

describe('toProviderMessages', () => {
  it.each<[string, ConversationMessage[], string[]]>([
    [
      'keeps roles and texts',
      [says('system', text('s')), says('user', text('a'), text('b'))],
      ['system s', 'user a b'],
    ],
    [
      'omits metadata and empty messages',
      [says('user', { type: 'metadata', data: 1 }), says('assistant', text(''))],
      [],
    ],
    [
      'puts each result after its call',
      [
        says('assistant', text('t'), call('x', '1'), call('y', '2')),
        says('tool', result('y', 'b', '2')),
        says('user', text('u')),
        says('tool', result('x', 'a', '1')),
      ],
      ['assistant t 1? 2?', 'tool 1=a 2=b', 'user u'],
    ],
    [
      'adds missing ids to calls, and pairs them with results by name',
      [says('assistant', call('x'), call('x')), says('tool', result('x', 'a')), says('tool', result('x', 'b'))],
      ['assistant call_1? call_2?', 'tool call_1=a call_2=b'],
    ],
    [
      'adds a result that says that the call has none',
      [says('assistant', call('x', '1')), says('user', text('u'))],
      ['assistant 1?', `tool 1=${NONE}`, 'user u'],
    ],
    ['omits results without a call', [says('tool', result('x', 'a', '1')), says('user', text('u'))], ['user u']],
    ['keeps the text of a tool message', [says('tool', text('log'))], ['user log']],
  ])('%s', (_, messages, expected) => {
    expect(lines(messages)).toEqual(expected)
  })
})

describe('pairToolResults', () => {
  const pairs = (...messages: ConversationMessage[]) =>
    pairToolResults(messages).map(({ index, part, resultIndex }) => `${index}.${part}-${resultIndex}`)

  it.each<[string, ConversationMessage[], string[]]>([
    [
      'by id, also if the name differs',
      [says('assistant', call('x', '1')), says('tool', result('y', 0, '1'))],
      ['0.0-1'],
    ],
    [
      'with the newest call of an id',
      [says('assistant', call('x', '1')), says('assistant', call('x', '1')), says('tool', result('x', 0, '1'))],
      ['1.0-2'],
    ],
    [
      'each call once',
      [says('assistant', call('x', '1')), says('tool', result('x', 0, '1'), result('x', 0, '1'))],
      ['0.0-1'],
    ],
    ['never with a later call', [says('tool', result('x', 0)), says('assistant', call('x'))], []],
    ['in one message', [says('assistant', call('x'), result('x', 0))], ['0.0-0']],
  ])('pairs %s', (_, messages, expected) => {
    expect(pairs(...messages)).toEqual(expected)
  })
})

describe('contentOfReply', () => {
  it('returns the parts of the message, and the tool calls that it does not contain', () => {
    const message = {
      role: 'assistant' as const,
      content: [
        { type: 'text', text: '' },
        { type: 'text', text: 'Hm.' },
        { type: 'tool-call', id: '1', name: 'x', arguments: { a: 1 } },
        { type: 'image', url: 'u' },
      ],
    }
    const calls = [
      { id: '1', name: 'x', arguments: { a: 1 } },
      { id: '2', name: 'y', arguments: null },
    ]
    expect(contentOfReply(message, calls)).toEqual([
      { type: 'text', text: 'Hm.' },
      { type: 'tool-call', id: '1', name: 'x', arguments: { a: 1 } },
      { type: 'metadata', data: { type: 'image', url: 'u' } },
      { type: 'tool-call', id: '2', name: 'y', arguments: null },
    ])
  })
})
