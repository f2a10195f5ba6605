// The messages that a page shows, and those of its conversation, as one list.

import { describe, expect, it } from 'vitest'
import { mergeMessages } from '../../../src/ai-sdk/merge.ts'
import type { ConversationMessage } from '../../../src/ai-sdk/messages.ts'

/** A message of the conversation; `turn_POSITION`, with this text. */
const stored = (position: number, text: string, id = `turn_${position}`): ConversationMessage => ({
  id,
  role: 'assistant',
  metadata: { actor: 'bot', name: 'bot', position, createdAt: '' },
  parts: [{ type: 'text', text }],
})
/** A message that the page has added. */
const own = (id: string, text: string): ConversationMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] })
const shapeOf = ({ id, parts, metadata }: ConversationMessage) =>
  `${id} ${(parts[0] as { text: string }).text}${metadata ? '' : ' (own)'}`

type Case = {
  shown?: ConversationMessage[]
  stored?: ConversationMessage[]
  sent?: [string, string][]
  streamed?: string[]
  merged: string[]
}

describe('messages of a page and of its conversation', () => {
  it.each<[string, Case]>([
    ['an empty page shows the conversation', { stored: [stored(1, 'a')], merged: ['turn_1 a'] }],
    [
      'a newer state replaces a shown one',
      { shown: [stored(1, 'a')], stored: [stored(1, 'ab')], merged: ['turn_1 ab'] },
    ],
    [
      'the page has the newest state of a message that a stream writes',
      { shown: [stored(1, 'abc')], stored: [stored(1, 'ab')], streamed: ['turn_1'], merged: ['turn_1 abc'] },
    ],
    [
      'a message that a stream will write is shown',
      { stored: [stored(1, 'ab')], streamed: ['turn_1'], merged: ['turn_1 ab'] },
    ],
    [
      'a sent message keeps its id',
      { shown: [own('x', 'Hi')], stored: [stored(1, 'Hi')], sent: [['x', 'turn_1']], merged: ['x Hi'] },
    ],
    [
      'a message that is being sent stays after the message that it followed',
      {
        shown: [stored(1, 'a'), own('x', 'Hi')],
        stored: [stored(1, 'a'), stored(2, 'b')],
        merged: ['turn_1 a', 'x Hi (own)', 'turn_2 b'],
      },
    ],
    [
      'a message of the page itself stays where it is',
      {
        shown: [own('x', 'Welcome'), stored(1, 'a'), own('y', 'Notice'), stored(2, 'b')],
        stored: [stored(1, 'a'), stored(2, 'b'), stored(3, 'c')],
        merged: ['x Welcome (own)', 'turn_1 a', 'y Notice (own)', 'turn_2 b', 'turn_3 c'],
      },
    ],
    [
      'messages before the conversation that was read are kept',
      { shown: [stored(1, 'a'), stored(2, 'b')], stored: [stored(2, 'b')], merged: ['turn_1 a', 'turn_2 b'] },
    ],
    [
      'a version that was superseded is replaced',
      {
        shown: [stored(1, 'a'), stored(2, 'b')],
        stored: [stored(1, 'A', 'turn_9'), stored(2, 'b')],
        merged: ['turn_9 A', 'turn_2 b'],
      },
    ],
    [
      'an erased message disappears',
      { shown: [stored(1, 'a'), stored(2, 'b')], stored: [stored(1, 'a')], merged: ['turn_1 a'] },
    ],
  ])('%s', (_, { shown = [], stored: messages = [], sent = [], streamed = [], merged }) => {
    const options = { sent: new Map(sent.map(([id, turnId]) => [id, { id: turnId }])), streamed: new Set(streamed) }
    expect(mergeMessages(shown, messages, options).map(shapeOf)).toEqual(merged)
  })
})
