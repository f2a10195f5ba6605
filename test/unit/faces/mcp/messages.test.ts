// The messages of a context as messages of a prompt.

import { describe, expect, it } from 'vitest'
import type { ContextMessage } from '../../../../src/client/generated.ts'
import { messagesOf } from '../../../../src/faces/mcp/messages.ts'

type Part = ContextMessage['parts'][number]

const message = (role: ContextMessage['role'], name: string | null, ...parts: Part[]): ContextMessage => ({
  role,
  name,
  content: '',
  parts,
  tokenCount: 1,
  sourceIds: [],
})
const text = (value: string): Part => ({ __typename: 'TextPart', text: value })
const file = (url: string, mediaType: string, fileName: string | null = null, caption: string | null = null): Part => ({
  __typename: 'FilePart',
  url,
  mediaType,
  fileName,
  caption,
  attachment: null,
})

describe('messagesOf', () => {
  it.each<[string, ContextMessage, object[]]>([
    ['a person', message('USER', 'ada', text('Hi')), [{ role: 'user', content: { type: 'text', text: 'ada: Hi' } }]],
    [
      'a model, without its name',
      message('ASSISTANT', 'bot', text('Hi')),
      [{ role: 'assistant', content: { type: 'text', text: 'Hi' } }],
    ],
    [
      'instructions',
      message('SYSTEM', null, text('Be kind.')),
      [{ role: 'user', content: { type: 'text', text: 'Instructions: Be kind.' } }],
    ],
    [
      'an image that the URL contains',
      message('USER', 'ada', text('Look'), file('data:image/png;base64,aGk=', 'image/png')),
      [
        { role: 'user', content: { type: 'text', text: 'ada: Look' } },
        { role: 'user', content: { type: 'image', mimeType: 'image/png', data: 'aGk=' } },
      ],
    ],
    [
      'a sound',
      message('USER', null, file('data:audio/wav;base64,aGk=', 'audio/wav')),
      [{ role: 'user', content: { type: 'audio', mimeType: 'audio/wav', data: 'aGk=' } }],
    ],
    [
      'a file at another address',
      message('USER', 'ada', file('https://example.org/a.pdf', 'application/pdf', 'a.pdf', 'The lease')),
      [
        {
          role: 'user',
          content: {
            type: 'resource_link',
            uri: 'https://example.org/a.pdf',
            name: 'a.pdf',
            mimeType: 'application/pdf',
            description: 'The lease',
          },
        },
      ],
    ],
    [
      'a tool call and its result, as text',
      message(
        'ASSISTANT',
        null,
        { __typename: 'ToolCallPart', callId: 'c', name: 'add', arguments: { a: 1 } },
        { __typename: 'ToolResultPart', callId: 'c', callTurnId: 't', name: 'add', result: 2 },
      ),
      [
        { role: 'assistant', content: { type: 'text', text: '[calls add {"a":1}]' } },
        { role: 'assistant', content: { type: 'text', text: '[result of add: 2]' } },
      ],
    ],
    [
      'nothing of reasoning and of data of the application',
      message(
        'ASSISTANT',
        null,
        { __typename: 'ReasoningPart', reasoning: 'hm', signature: null },
        { __typename: 'DataPart', data: {} },
      ),
      [],
    ],
  ])('maps %s', (_, given, expected) => {
    expect(messagesOf([given])).toEqual(expected)
  })
})
