// The deltas of a turn that the parts of a reply become.

import { describe, expect, it } from 'vitest'
import { createReplyParts } from '../../../../../../src/domain/agent/run/answer/reply-parts.ts'
import type { TurnWriter } from '../../../../../../src/domain/agent/run/answer/turn-writer.ts'
import type { ProviderDeltaPart, ProviderToolCall } from '../../../../../../src/providers/ports/provider-adapter.ts'

/** Returns the deltas that are written for the parts and the whole calls, each as the text and its part. */
async function written(given: (ProviderDeltaPart | { call: ProviderToolCall })[]) {
  const deltas: Parameters<TurnWriter['write']>[] = []
  const writer: TurnWriter = {
    write: async (...delta) => void deltas.push(delta),
    finish: () => expect.unreachable(),
    stop: () => expect.unreachable(),
  }
  const parts = createReplyParts(writer)
  for (const each of given) await ('call' in each ? parts.complete(each.call) : parts.write(each))
  return deltas
}

const text = (said: string): ProviderDeltaPart => ({ type: 'text', text: said })
const reasoning = (thought: string): ProviderDeltaPart => ({ type: 'reasoning', text: thought })
const start = (id: string, name = 'now'): ProviderDeltaPart => ({ type: 'tool-call-start', id, name })
const more = (id: string, json: string): ProviderDeltaPart => ({ type: 'tool-call-delta', id, text: json })
/** A whole call of the tool `now`, without arguments by default. */
const whole = (id: string, call: Partial<ProviderToolCall> = {}) => ({
  call: { id, name: 'now', arguments: {}, ...call },
})
const opened = (callId: string, name = 'now') => ({ toolCall: { callId, name } })

describe('reasoning', () => {
  const given = [
    reasoning('Hm'),
    reasoning('.'),
    { type: 'reasoning-end', signature: 'sig' } as const,
    { type: 'reasoning-end' } as const,
    reasoning('So.'),
    text(''),
    reasoning(' Yes.'),
    text('Hello.'),
    reasoning('Look.'),
    start('a'),
    reasoning('Wait.'),
  ]

  it('becomes parts that end with its signature, the next text or the next tool call', async () => {
    expect(await written(given)).toEqual([
      ['Hm', { number: 1, reasoning: {} }],
      ['.', { number: 1 }],
      ['', { number: 1, reasoning: { signature: 'sig' }, isComplete: true }],
      ['So.', { number: 2, reasoning: {} }],
      [' Yes.', { number: 2 }],
      ['', { number: 2, isComplete: true }],
      ['Hello.'],
      ['Look.', { number: 3, reasoning: {} }],
      ['', { number: 3, isComplete: true }],
      ['', { number: 4, ...opened('a') }],
      ['Wait.', { number: 5, reasoning: {} }],
    ])
  })
})

describe('a tool call', () => {
  it('is written from its name to the end of its arguments, apart from parallel calls', async () => {
    const given = [
      start('a'),
      start('b', 'search'),
      more('a', '{"at"'),
      more('b', '{'),
      more('a', ':1}'),
      whole('a', { arguments: { at: 1 } }),
      more('a', 'late'),
      more('b', '}'),
      whole('b', { name: 'search' }),
    ]
    expect(await written(given)).toEqual([
      ['', { number: 1, ...opened('a') }],
      ['', { number: 2, ...opened('b', 'search') }],
      ['{"at"', { number: 1 }],
      ['{', { number: 2 }],
      [':1}', { number: 1 }],
      ['', { number: 1, isComplete: true }],
      ['}', { number: 2 }],
      ['', { number: 2, isComplete: true }],
    ])
  })

  it.each([
    ['an object', { at: 1 }, '{"at":1}'],
    ['a text that is not JSON', '{"at":', '{"at":'],
    ['no value', undefined, '{}'],
  ])('has all its arguments at the end if none were announced: %s', async (_, given, json) => {
    const deltas = [
      ['', { number: 1, ...opened('a') }],
      [json, { number: 1, isComplete: true }],
    ]
    expect(await written([start('a'), whole('a', { arguments: given })])).toEqual(deltas)
    expect(await written([whole('a', { arguments: given })])).toEqual(deltas)
  })

  it('that was not announced ends the reasoning; deltas of such a call are dropped', async () => {
    expect(await written([reasoning('Hm.'), more('a', '{'), whole('a')])).toEqual([
      ['Hm.', { number: 1, reasoning: {} }],
      ['', { number: 1, isComplete: true }],
      ['', { number: 2, ...opened('a') }],
      ['{}', { number: 2, isComplete: true }],
    ])
  })

  it.each([
    ['an empty name', 'a', ''],
    ['a name of 300 characters', 'a', 'x'.repeat(300)],
    ['U+0000 in its name', 'a', 'n\0w'],
    ['an empty id', '', 'now'],
    ['U+0000 in its id', 'a\0', 'now'],
  ])('is not written if it has %s, which a turn cannot store', async (_, id, name) => {
    const given = [start(id, name), more(id, '{}'), whole(id, { name }), start('b'), whole('b')]
    expect(await written(given)).toEqual([
      ['', { number: 1, ...opened('b') }],
      ['{}', { number: 1, isComplete: true }],
    ])
  })
})

describe('the parts of one reply', () => {
  it('have at most 65,536 units of reasoning, so that room is left for the answer', async () => {
    const deltas = await written([
      reasoning('a'.repeat(60_000)),
      reasoning('b'.repeat(9_000)),
      reasoning('c'),
      text('So.'),
    ])
    expect(deltas.map(([said]) => said.length)).toEqual([60_000, 1, 0, 3])
  })

  it.each(['x'.repeat(70_000), 'a\0'])('have no signature that a turn cannot contain', async (signature) => {
    const deltas = await written([reasoning('Hm.'), { type: 'reasoning-end', signature }])
    expect(deltas.at(-1)).toEqual(['', { number: 1, isComplete: true }])
  })

  it('are at most 300; further calls and reasoning are not written, but text and the open parts are', async () => {
    const calls = Array.from({ length: 299 }, (_, index) => start(`c${index}`))
    const deltas = await written([
      ...calls,
      reasoning('Hm.'),
      start('more'),
      more('more', '{}'),
      whole('more'),
      reasoning('Well.'),
      text('Hello.'),
      more('c0', '{}'),
      whole('c0'),
    ])
    expect(deltas.slice(299)).toEqual([
      ['Hm.', { number: 300, reasoning: {} }],
      ['', { number: 300, isComplete: true }],
      ['Hello.'],
      ['{}', { number: 1 }],
      ['', { number: 1, isComplete: true }],
    ])
  })
})
