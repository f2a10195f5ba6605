// The pieces of chunks as different servers send them: tool calls and reasoning. The contract of all adapters is in
// test/contract/, and replies over a socket are in test/backend/providers/openai/.

import { describe, expect, it } from 'vitest'
import { createReplySize, type ReplyPiece } from '../../../../src/providers/reply.ts'
import { createChunkReader } from '../../../../src/providers/openai/chat-reply.ts'

const chunk = (delta: object, finish: string | null = null) => ({ choices: [{ delta, finish_reason: finish }] })

/** Returns the pieces of each chunk, and those at the end of the reply without the last one. */
function piecesOf(...deltas: object[]): ReplyPiece[][] {
  const reader = createChunkReader('p:m', createReplySize('p:m'))
  const pieces = deltas.map((delta) => reader.read(chunk(delta)))
  reader.read(chunk({}, 'tool_calls'))
  return [...pieces, reader.end().slice(0, -1)]
}

const calls = (...tool_calls: object[]) => ({ tool_calls })
const start = (key: number, id: string, name = 'now') => ({ type: 'call-start', key, id, name })
const more = (key: number, text: string) => ({ type: 'call-delta', key, text })
const whole = (key: number, id: string, given: unknown, name = 'now') => ({
  type: 'tool-call',
  key,
  toolCall: { id, name, arguments: given },
})

describe('the tool calls of a server', () => {
  it.each<[string, object[], object[][]]>([
    [
      'that gives each call its own index',
      [
        calls({ index: 0, id: 'a', function: { name: 'now', arguments: '' } }),
        calls({ index: 0, function: { arguments: '{"at"' } }),
        calls({ index: 1, id: 'b', function: { name: 'search' } }, { index: 0, function: { arguments: ':1}' } }),
        calls({ index: 1, function: { arguments: '{"q":2}' } }),
      ],
      [
        [start(0, 'a')],
        [more(0, '{"at"')],
        [start(1, 'b', 'search'), more(0, ':1}')],
        [more(1, '{"q":2}')],
        [whole(0, 'a', { at: 1 }), whole(1, 'b', { q: 2 }, 'search')],
      ],
    ],
    [
      'that gives all calls the same index',
      [
        calls({ index: 0, id: 'a', function: { name: 'now', arguments: '{"at"' } }),
        calls({ index: 0, function: { arguments: ':1}' } }),
        calls({ index: 0, id: 'b', function: { name: 'now', arguments: '{"at"' } }),
        calls({ index: 0, id: 'b', function: { arguments: ':2}' } }),
      ],
      [
        [start(0, 'a'), more(0, '{"at"')],
        [more(0, ':1}')],
        [start(1, 'b'), more(1, '{"at"')],
        [more(1, ':2}')],
        [whole(0, 'a', { at: 1 }), whole(1, 'b', { at: 2 })],
      ],
    ],
    [
      'that sends each call in one chunk, with the same index or none',
      [
        calls({ index: 0, id: 'a', function: { name: 'now', arguments: '{"at":1}' } }),
        calls({ index: 0, id: 'b', function: { name: 'now', arguments: '{"at":2}' } }),
        calls({ id: 'c', function: { name: 'now', arguments: '{}' } }),
      ],
      [
        [start(0, 'a'), more(0, '{"at":1}')],
        [start(1, 'b'), more(1, '{"at":2}')],
        [start(2, 'c'), more(2, '{}')],
        [whole(0, 'a', { at: 1 }), whole(1, 'b', { at: 2 }), whole(2, 'c', {})],
      ],
    ],
    [
      'that repeats the name and the id',
      [
        calls({ index: 0, id: 'a', function: { name: 'now', arguments: '{' } }),
        calls({ index: 0, id: 'a', function: { name: 'now', arguments: '}' } }),
      ],
      [[start(0, 'a'), more(0, '{')], [more(0, '}')], [whole(0, 'a', {})]],
    ],
    [
      'that sends the arguments as an object',
      [calls({ index: 0, id: 'a', function: { name: 'now', arguments: { at: 1 } } })],
      [[start(0, 'a'), more(0, '{"at":1}')], [whole(0, 'a', { at: 1 })]],
    ],
    [
      'that sends the id after the name',
      [
        calls({ index: 0, function: { name: 'now', arguments: '' } }),
        calls({ index: 0, id: 'a', function: { arguments: '{"at":1}' } }),
      ],
      [[start(0, '')], [more(0, '{"at":1}')], [whole(0, 'a', { at: 1 })]],
    ],
    [
      'that sends the name after the id and some arguments',
      [
        calls({ index: 0, id: 'a', function: { arguments: '{"at"' } }),
        calls({ index: 0, function: { name: 'now', arguments: ':' } }),
        calls({ index: 0, function: { arguments: '1}' } }),
      ],
      [[], [start(0, 'a'), more(0, '{"at":')], [more(0, '1}')], [whole(0, 'a', { at: 1 })]],
    ],
    [
      'that sends no arguments',
      [calls({ index: 0, id: 'a', function: { name: 'now' } })],
      [[start(0, 'a')], [whole(0, 'a', {})]],
    ],
  ])('%s are announced once, with their arguments as they arrive', (_, deltas, expected) => {
    expect(piecesOf(...deltas)).toEqual(expected)
  })
})

describe('the reasoning of a server', () => {
  it.each([
    ['reasoning_content', { reasoning_content: 'Hm.' }],
    ['reasoning', { reasoning: 'Hm.' }],
    ['both names', { reasoning_content: 'Hm.', reasoning: 'Hm.' }],
    ['both names, one of them empty', { reasoning_content: '', reasoning: 'Hm.', content: null }],
  ])('in %s is one piece', (_, delta) => {
    expect(piecesOf(delta)).toEqual([[{ type: 'reasoning', text: 'Hm.' }], []])
  })

  it('precedes the text and the tool calls of the same chunk', () => {
    const call = { index: 0, id: 'a', function: { name: 'now' } }
    expect(piecesOf({ ...calls(call), content: 'I look.', reasoning: 'Hm.' })[0]).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'I look.' },
      start(0, 'a'),
    ])
  })

  it('of another type is ignored', () => {
    expect(piecesOf({ reasoning: { text: 'Hm.' } }, { reasoning_content: 1 })).toEqual([[], [], []])
  })
})
