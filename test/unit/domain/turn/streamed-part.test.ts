// How the text and the streamed parts of a turn become its content.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { abortedParts, committedParts, openParts, toDeltaPart } from '../../../../src/domain/turn/streamed-part.ts'
import { InvalidInput } from '../../../../src/errors.ts'
import type { OpenPart } from '../../../../src/store/sql/turn/streaming/open-content.ts'

const part = (number: number, at: number, content: OpenPart['content'], text = '', isComplete = true): OpenPart => ({
  number,
  at,
  content,
  text,
  isComplete,
})
const call = (number: number, at: number, text: string, isComplete = true) =>
  part(number, at, { type: 'toolCall', callId: `c${number}`, name: 'add' }, text, isComplete)
const result = (number: number, at: number, callId: string, name = 'add') =>
  part(number, at, { type: 'toolResult', callId, name, result: 3 })
const reasoning = (number: number, at: number, text: string) => part(number, at, { type: 'reasoning' }, text)
const text = (of: string) => ({ type: 'text', text: of })
const added = (callId: string, given: unknown) => ({ type: 'toolCall', callId, name: 'add', arguments: given })

describe('a committed turn', () => {
  it('has each part where the text ended when the part was opened', () => {
    const parts = [reasoning(1, 0, 'hm'), call(2, 5, '{"a":1}'), result(3, 5, 'c2'), reasoning(4, 9, 'ok')]
    expect(committedParts({ text: 'Sum: 3 ok', parts }, [])).toEqual([
      { type: 'reasoning', reasoning: 'hm' },
      text('Sum: '),
      added('c2', { a: 1 }),
      { type: 'toolResult', callId: 'c2', name: 'add', result: 3 },
      text('3 ok'),
      { type: 'reasoning', reasoning: 'ok' },
    ])
  })

  it('has no progress and no empty reasoning, and one text where they stood', () => {
    const parts = [part(1, 2, { type: 'toolProgress', callId: 'c1' }, '50 %'), reasoning(2, 2, '')]
    expect(committedParts({ text: 'abcd', parts }, [])).toEqual([text('abcd')])
  })

  it('keeps the signature of reasoning without text', () => {
    const parts = [part(1, 0, { type: 'reasoning', signature: 's' })]
    expect(committedParts({ text: '', parts }, [])).toEqual([{ type: 'reasoning', reasoning: '', signature: 's' }])
  })

  it('has a given tool call once, if two streamed calls have its callId', () => {
    const given = { type: 'toolCall', callId: 'c1', name: 'add', arguments: { b: 2 } } as const
    const twice = { ...call(1, 0, '{'), number: 2 }
    expect(committedParts({ text: '', parts: [call(1, 0, '{'), twice] }, [given])).toEqual([given])
  })

  it('has a given tool call in the place of the streamed one, and other given parts at its end', () => {
    const given = [
      { type: 'data', data: 1 },
      { type: 'toolCall', callId: 'c1', name: 'add', arguments: { b: 2 } },
    ] as const
    expect(committedParts({ text: 'ab', parts: [call(1, 1, '{"b":', false)] }, given)).toEqual([
      text('a'),
      given[1],
      text('b'),
      given[0],
    ])
  })

  it.each([
    ['cut', '{"a":', 'is not JSON'],
    ['a number that is no object', '7', null],
    ['empty', '', null],
    ['a character that the database cannot store', '"\\u0000"', 'U+0000'],
  ])('needs the arguments of a tool call as JSON: %s', (_, streamed, problem) => {
    const commit = () => committedParts({ text: '', parts: [call(1, 0, streamed)] }, [])
    if (problem === null) return expect(commit()).toEqual([added('c1', streamed === '' ? {} : 7)])
    expect(commit).toThrow(InvalidInput)
    expect(commit).toThrow(problem)
  })

  it('has all its text, however the parts divide it', () => {
    const cuts = fc.array(fc.nat(40), { maxLength: 8 })
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), cuts, (whole, at) => {
        const places = at.map((each) => Math.min(each, whole.length)).sort((a, b) => a - b)
        const parts = places.map((place, index) => reasoning(index + 1, place, String(index)))
        const folded = committedParts({ text: whole, parts }, [])
        expect(folded.map((each) => (each.type === 'text' ? each.text : '')).join('')).toBe(whole)
        expect(folded.filter(({ type }) => type === 'reasoning')).toHaveLength(parts.length)
        for (const [index, each] of folded.entries()) {
          if (each.type === 'text') expect([each.text !== '', folded[index + 1]?.type]).not.toContain('text')
        }
      }),
    )
  })
})

describe('an open turn', () => {
  it('has no tool call before its arguments are complete, and none whose arguments are not JSON', () => {
    const parts = [call(1, 0, '{}', false), call(2, 0, '{'), call(3, 0, '{}')]
    expect(openParts({ text: '', parts })).toEqual([added('c3', {})])
  })
})

describe('an aborted turn', () => {
  it('keeps only those tool calls that a later result in it answers', () => {
    const parts = [
      result(1, 0, 'c3'),
      call(2, 0, '{}'),
      call(3, 0, '{}'),
      result(4, 0, 'c3'),
      result(5, 0, 'c2', 'other'),
    ]
    expect(abortedParts({ text: 'x', parts })).toEqual([
      added('c3', {}),
      { type: 'toolResult', callId: 'c3', name: 'add', result: 3 },
      text('x'),
    ])
  })
})

describe('a part of a delta', () => {
  it.each([
    [
      'a tool call',
      { number: 1, toolCall: { callId: 'c', name: 'n' } },
      { type: 'toolCall', callId: 'c', name: 'n' },
      false,
    ],
    ['reasoning', { number: 1, reasoning: {} }, { type: 'reasoning' }, false],
    ['signed reasoning', { number: 1, reasoning: { signature: 's' } }, { type: 'reasoning', signature: 's' }, true],
    ['data', { number: 1, data: { a: 1 } }, { type: 'data', data: { a: 1 } }, true],
    ['more of a part', { number: 2 }, null, false],
    ['the last of a part', { number: 2, isComplete: true }, null, true],
  ])('is %s', (_, given, content, isComplete) => {
    expect(toDeltaPart(given)).toEqual({ number: given.number, content, isComplete })
  })
})
