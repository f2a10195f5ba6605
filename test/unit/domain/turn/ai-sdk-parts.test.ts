// Conversion of content of the AI SDK to the parts of a turn.

import { expect, it } from 'vitest'
import { partsFromAiSdk, type AiSdkPart } from '../../../../src/domain/turn/ai-sdk-parts.ts'
import { parts } from '../../../../src/domain/turn/content.ts'

const CALL = { toolCallId: 'c1', toolName: 'weather' }
const result = (output: unknown): AiSdkPart => ({ type: 'tool-result', ...CALL, output })
const resultOf = (value: unknown) => [{ toolResult: { callId: 'c1', name: 'weather', result: value } }]

it.each<[string, string | AiSdkPart[], object[]]>([
  ['a text', 'Hello.', [{ text: 'Hello.' }]],
  ['no text', '', []],
  [
    'the chunks of a stream',
    [
      { type: 'text-start' },
      { type: 'text-delta', delta: 'Hel' },
      { type: 'text-delta', delta: 'lo.' },
      { type: 'text-end' },
      { type: 'finish' },
    ],
    [{ text: 'Hello.' }],
  ],
  [
    'a reply with reasoning',
    [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Yes.' },
    ],
    [{ reasoning: { reasoning: 'Hm.' } }, { text: 'Yes.' }],
  ],
  [
    'a call with JSON',
    [{ type: 'tool-call', ...CALL, input: '{"city":"Oslo"}' }],
    [{ toolCall: { callId: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' } }],
  ],
  [
    'a call without arguments',
    [{ type: 'tool-call', ...CALL }],
    [{ toolCall: { callId: 'c1', name: 'weather', arguments: {} } }],
  ],
  ['a JSON result', [result({ type: 'json', value: { degrees: 7 } })], resultOf({ degrees: 7 })],
  ['an error', [result({ type: 'error-text', value: 'No such city.' })], resultOf('No such city.')],
  ['a denied call', [result({ type: 'execution-denied', reason: 'Too expensive.' })], resultOf('Too expensive.')],
  ['a denied call without a reason', [result({ type: 'execution-denied' })], resultOf('The call was denied.')],
  [
    'a file with a URL',
    [{ type: 'file', data: new URL('https://example.com/a.png'), mediaType: 'image/png' }],
    [{ file: { url: 'https://example.com/a.png', mediaType: 'image/png', fileName: null } }],
  ],
  [
    'a file with bytes (dropped) and a text',
    [
      { type: 'file', data: new Uint8Array(2), mediaType: 'image/png' },
      { type: 'text', text: 'See.' },
    ],
    [{ text: 'See.' }],
  ],
  [
    'texts around a call',
    [
      { type: 'text', text: 'a' },
      { type: 'tool-call', ...CALL, input: {} },
      { type: 'text', text: 'b' },
    ],
    [{ text: 'a' }, { toolCall: { callId: 'c1', name: 'weather', arguments: {} } }, { text: 'b' }],
  ],
])('converts %s', (_, content, expected) => {
  const converted = partsFromAiSdk(content)
  expect(converted).toEqual(expected)
  if (converted.length > 0) expect(parts.safeParse(converted).success).toBe(true)
})
