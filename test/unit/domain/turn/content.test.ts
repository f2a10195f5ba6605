// The content of a turn: parsing and storing of parts, derived values, and equality of content.

import { describe, expect, it } from 'vitest'
import { parse } from '../../../../src/domain/kernel/input.ts'
import {
  contentOf,
  parts,
  partsOf,
  toParts,
  type ContentPart,
  type PartInput,
  isDamaged,
} from '../../../../src/domain/turn/content.ts'
import { digest } from '../../../../src/domain/turn/append/turn-input.ts'
import { InvalidInput } from '../../../../src/errors.ts'

/** Counts characters, so that tests can verify the counted text. */
const deps = { limits: { turnBytes: 100 }, tokens: { count: (text: string) => text.length, close: async () => {} } }
const read = (...inputs: PartInput[]) => toParts(parse(parts, inputs))
const call = (callId: string): PartInput => ({ toolCall: { callId, name: 'look', arguments: { a: 1 } } })
const result = (callId: string, callTurnId?: string): PartInput => ({
  toolResult: { callId, name: 'look', result: [true], callTurnId },
})
const TURN = `turn_${'0'.repeat(26)}`

describe('a part', () => {
  it.each<[PartInput, ContentPart]>([
    [{ text: 'a' }, { type: 'text', text: 'a' }],
    [
      { text: '', data: null },
      { type: 'text', text: '' },
    ],
    [
      { text: null, data: 0 },
      { type: 'data', data: 0 },
    ],
    [{ data: false }, { type: 'data', data: false }],
    [{ data: { deep: [null] } }, { type: 'data', data: { deep: [null] } }],
    [call('k'), { type: 'toolCall', callId: 'k', name: 'look', arguments: { a: 1 } }],
    [
      { toolCall: { callId: 'k', name: 'n', arguments: undefined } },
      { type: 'toolCall', callId: 'k', name: 'n', arguments: null },
    ],
    [
      { toolResult: { callId: 'k', name: 'n', result: false } },
      { type: 'toolResult', callId: 'k', name: 'n', result: false },
    ],
    [
      { toolResult: { callId: 'k', name: 'n', result: null } },
      { type: 'toolResult', callId: 'k', name: 'n', result: null },
    ],
    [
      { file: { mediaType: 'image/png', url: 'https://a.example/' } },
      { type: 'file', mediaType: 'image/png', url: 'https://a.example/' },
    ],
    [
      { file: { mediaType: 'image/png', url: 'https://a.example/', caption: 'A fence' } },
      { type: 'file', mediaType: 'image/png', url: 'https://a.example/', caption: 'A fence' },
    ],
    [{ toolResult: { callId: 'k', name: 'n' } }, { type: 'toolResult', callId: 'k', name: 'n', result: null }],
    [
      { toolCall: { callId: 'k', name: 'n', arguments: ' {"q": ["a"]}' } },
      { type: 'toolCall', callId: 'k', name: 'n', arguments: { q: ['a'] } },
    ],
    [
      { toolCall: { callId: 'k', name: 'n', arguments: '{"q": ' } },
      { type: 'toolCall', callId: 'k', name: 'n', arguments: '{"q": ' },
    ],
    [
      { toolCall: { callId: 'k', name: 'n', arguments: '7' } },
      { type: 'toolCall', callId: 'k', name: 'n', arguments: '7' },
    ],
    [{ reasoning: { reasoning: 'hm', signature: 's' } }, { type: 'reasoning', reasoning: 'hm', signature: 's' }],
  ])('%j is stored as %j', (input, part) => {
    expect(read(input)).toEqual([part])
  })

  it.each<[unknown, RegExp]>([
    [{}, /exactly one field/],
    [{ text: null }, /exactly one field/],
    [{ data: null }, /exactly one field/],
    [{ text: 'a', data: 1 }, /exactly one field/],
    [{ text: '', toolCall: { callId: 'k', name: 'n', arguments: 1 } }, /exactly one field/],
    [{ toolCall: { callId: '', name: 'n', arguments: {} } }, /toolCall\.callId: must not be empty/],
    [{ toolCall: { callId: 'k', arguments: {} } }, /toolCall\.name/],
    [{ file: { mediaType: 'a', url: '' } }, /file\.url/],
    [{ file: { mediaType: 'a', url: 'x'.repeat(8193) } }, /file\.url: must be at most 8192 characters/],
    [{ file: { mediaType: 'a', url: 'x-b:c', caption: 'x'.repeat(1001) } }, /file\.caption: must be at most 1000/],
    [{ file: { mediaType: 'a', url: 'javascript:alert(1)' } }, /file\.url: has the scheme "javascript"/],
    [
      { toolCall: { callId: 'k', name: 'n', arguments: '{"a": "\\u0000"}' } },
      /toolCall\.arguments: must not contain U\+0000/,
    ],
    [{ reasoning: { reasoning: '\0' } }, /reasoning\.reasoning: must not contain U\+0000/],
    [{ data: ['\ud83d'] }, /data: must not contain/],
    ['a', /./],
    [null, /./],
  ])('%j is rejected', (input, message) => {
    expect(() => parse(parts, [input])).toThrow(message)
  })

  it('belongs to a list of 1 to 1,000 parts', () => {
    expect(() => read()).toThrow('must not be empty')
    expect(() => read(...Array<PartInput>(1001).fill({ text: 'a' }))).toThrow('at most 1000 parts')
    expect(read(...Array<PartInput>(1000).fill({ text: 'a' }))).toHaveLength(1000)
  })
})

describe('the content of a turn', () => {
  it('is stored as text alone if it is a single text part', async () => {
    expect(await contentOf(read({ text: ' hello ' }), deps)).toEqual({
      text: ' hello ',
      parts: null,
      tokens: 7,
      calls: [],
      results: [],
    })
  })

  it('keeps its parts, and joins their texts', async () => {
    const all = read({ text: 'see ' }, { data: 1 }, { text: 'this' })
    expect(await contentOf(all, deps)).toMatchObject({ text: 'see this', parts: all })
    expect(await contentOf(read({ text: 'a' }, { text: 'b' }), deps)).toMatchObject({ text: 'ab', parts: [{}, {}] })
    expect((await contentOf(read({ file: { mediaType: 'a', url: 'x-b:c' } }), deps)).text).toBe('')
  })

  it('is counted as a model receives it', async () => {
    const counted = ['a', 'hm', 'look {"a":1}', 'look [true]', 'image/png x-u:v A fence', '{"b":2}'].join('\n')
    const all = read(
      { text: 'a' },
      { reasoning: { reasoning: 'hm' } },
      call('k'),
      result('k'),
      { file: { mediaType: 'image/png', url: 'x-u:v', caption: 'A fence' } },
      { data: { b: 2 } },
    )
    expect((await contentOf(all, { ...deps, limits: { turnBytes: 1000 } })).tokens).toBe(counted.length)
  })

  it('accepts a token counter that returns a promise', async () => {
    const slow = { ...deps, tokens: { ...deps.tokens, count: async () => 42 } }
    expect((await contentOf(read({ text: 'a' }), slow)).tokens).toBe(42)
  })

  it.each<[PartInput[], calls: string[], results: string[]]>([
    [[call('a'), call('b')], ['a', 'b'], []],
    [[result('a'), result('a')], [], ['0 a', '1 a']],
    [[call('a'), result('a')], ['a'], ['1 a in the turn']],
    [[result('a'), call('a')], ['a'], ['0 a']],
    [[call('a'), result('a'), result('b')], ['a'], ['1 a in the turn', '2 b']],
    [[call('a'), result('a', TURN)], ['a'], [`1 a of ${TURN}`]],
  ])('%j has the calls %j and the results %j', async (inputs, callIds, results) => {
    const content = await contentOf(read(...inputs), { ...deps, limits: { turnBytes: 1000 } })
    expect(content.calls.map(({ callId }) => callId)).toEqual(callIds)
    const described = content.results.map(
      ({ part, callId, turnId, place }) =>
        `${part} ${callId}${turnId ? ` of ${turnId}` : ''}${place === 0 ? ' in the turn' : ''}`,
    )
    expect(described).toEqual(results)
  })

  it('has each callId at most once', async () => {
    const all = { ...deps, limits: { turnBytes: 1000 } }
    await expect(contentOf(read(call('a'), call('a')), all)).rejects.toThrow('two tool calls with the callId "a"')
  })

  it.each<[PartInput[]]>([[[{ text: '' }]], [[{ text: ' \n\t\u00a0' }]], [[{ text: '' }, { text: ' ' }]]])(
    '%j is empty',
    async (inputs) => {
      await expect(contentOf(read(...inputs), deps, 'turn.parts')).rejects.toThrow('turn.parts: must not be empty')
    },
  )

  it('has a limit in bytes: of the text, or of all parts as JSON', async () => {
    await contentOf(read({ text: 'x'.repeat(100) }), deps)
    await expect(contentOf(read({ text: 'x'.repeat(101) }), deps, 'c')).rejects.toThrow(
      'c: has 101 bytes; a turn may have at most 100',
    )
    await expect(contentOf(read({ text: '€'.repeat(34) }), deps)).rejects.toThrow('has 102 bytes')
    const printed = JSON.stringify(read({ text: 'a' }, { data: '' })).length
    await contentOf(read({ text: 'a' }, { data: 'x'.repeat(100 - printed) }), deps)
    await expect(contentOf(read({ text: 'a' }, { data: 'x'.repeat(101 - printed) }), deps)).rejects.toThrow(
      InvalidInput,
    )
  })

  it('is read back as parts, whether stored as text or as parts', async () => {
    for (const all of [read({ text: 'a' }), read({ text: 'a' }, { data: 1 }), read({ data: 1 })]) {
      expect(partsOf(await contentOf(all, deps))).toEqual(all)
    }
    expect(partsOf({ text: '', parts: null })).toEqual([])
  })
})

describe('the content digest', () => {
  it.each<[unknown, unknown]>([
    [
      { a: 1, b: { c: 2, d: [3] } },
      { b: { d: [3], c: 2 }, a: 1 },
    ],
    [{ a: 1 }, { a: 1, b: undefined, c: null }],
    [{ at: new Date(5) }, { at: new Date(5) }],
  ])('of %j equals that of %j', (a, b) => {
    expect(digest(a)).toBe(digest(b))
    expect(digest(a)).toMatch(/^[0-9a-f]{32}$/)
  })

  it.each<[unknown, unknown]>([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: '1' }, { a: 1 }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: 0 }, { a: false }],
    [{ a: '' }, {}],
    [{ at: new Date(5) }, { at: new Date(6) }],
    [{ a: [null] }, { a: [] }],
  ])('distinguishes %j from %j', (a, b) => {
    expect(digest(a)).not.toBe(digest(b))
  })
})

describe('stored parts', () => {
  const text = { type: 'text', text: 'a' }

  it.each<[unknown, boolean, unknown[]]>([
    [null, false, [{ type: 'text', text: 'all' }]],
    [[text], false, [text]],
    [
      [{ type: 'toolResult', callId: 'k', name: 'n', result: null }],
      false,
      [{ type: 'toolResult', callId: 'k', name: 'n', result: null }],
    ],
    [[text, { type: 'hologram', url: 'x' }], true, [text]],
    [[text, { type: 'text' }, null, 7], true, [text]],
    [[{ type: 'toolCall', callId: 'k' }], true, []],
    [{ oops: 1 }, true, [{ type: 'text', text: 'all' }]],
    ['oops', true, [{ type: 'text', text: 'all' }]],
  ])('%j are damaged: %s, and are read without the damaged parts', (stored, damaged, read) => {
    expect(isDamaged({ parts: stored })).toBe(damaged)
    expect(partsOf({ text: 'all', parts: stored })).toEqual(read)
  })
})
