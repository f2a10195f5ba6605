// Grouping of waiting deltas into one chunk, the end of each delta, and the new part of a repeated delta.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  endsOf,
  mergeDeltas,
  unwrittenText,
  type WaitingDelta,
} from '../../../../../src/domain/turn/streaming/delta-batch.ts'

const FIRST = '\ud83d'
const SECOND = '\ude00'

const delta = (text: string, start: number | null = null, isUnmergeable = false): WaitingDelta => ({
  delta: { tenant: 't', viewer: 'ann', writer: 'w', turnId: 'turn', part: null, start, text },
  isUnmergeable,
})

const cases: Record<string, { waiting: WaitingDelta[]; count: number; text: string; start?: number | null }> = {
  'one delta': { waiting: [delta('a')], count: 1, text: 'a' },
  'all deltas without a start': { waiting: [delta('a'), delta('b'), delta('c')], count: 3, text: 'abc' },
  'deltas whose starts continue the text': {
    waiting: [delta('ab', 5), delta('c', 7), delta('d'), delta('e', 9)],
    count: 4,
    text: 'abcde',
    start: 5,
  },
  'no delta that starts elsewhere': { waiting: [delta('ab', 5), delta('c', 6)], count: 1, text: 'ab', start: 5 },
  'no delta with a start after one without': { waiting: [delta('ab'), delta('c', 2)], count: 1, text: 'ab' },
  'a heartbeat alone': { waiting: [delta(''), delta('a')], count: 1, text: '' },
  'no heartbeat after text': { waiting: [delta('a'), delta('')], count: 1, text: 'a' },
  'a delta alone if it was rejected with others': {
    waiting: [delta('a', null, true), delta('b')],
    count: 1,
    text: 'a',
  },
  'no later delta that was rejected with others': {
    waiting: [delta('a'), delta('b', null, true)],
    count: 1,
    text: 'a',
  },
  'both halves of a pair': {
    waiting: [delta(`a${FIRST}`), delta(`${SECOND}b`)],
    count: 2,
    text: `a${FIRST}${SECOND}b`,
  },
  'no text after a first half without its second': { waiting: [delta(`a${FIRST}`), delta('b')], count: 1, text: 'a' },
  'no second half without its first': { waiting: [delta('a'), delta(SECOND)], count: 1, text: 'a' },
}

describe('a chunk of deltas', () => {
  it.each(Object.entries(cases))('has %s', (_, { waiting, count, text, start = null }) => {
    const before = waiting.length
    const merged = mergeDeltas(waiting)
    expect(merged.count).toBe(count)
    expect(merged.chunk).toMatchObject({ turn: 'turn', tenant: 't', start, text, units: text.length })
    expect(waiting).toHaveLength(before)
  })

  it('keeps surrogate halves at its ends apart from its text', () => {
    expect(mergeDeltas([delta(`${SECOND}ab${FIRST}`)]).chunk).toMatchObject({
      second: SECOND.charCodeAt(0),
      text: 'ab',
      units: 2,
      half: FIRST.charCodeAt(0),
    })
    expect(mergeDeltas([delta('ab')]).chunk).toMatchObject({ second: null, half: null })
  })

  it('ends where its last delta ends; every other delta ends where the next one begins', () => {
    expect(endsOf([delta('abc'), delta('d'), delta('ef')], 106)).toEqual([103, 104, 106])
  })
})

describe('the new part of a repeated delta', () => {
  it.each<[string, number, string, number, string | null]>([
    ['nothing is new if all of the delta is stored', 2, 'cd', 6, ''],
    ['the text beyond the end is new', 4, 'efgh', 6, 'gh'],
    ['a delta that differs from the stored text is rejected', 4, 'eXgh', 6, null],
    ['text stored after the end was read is not compared', 4, 'efXX', 6, 'XX'],
  ])('%s', (_, start, text, end, rest) => {
    expect(unwrittenText({ start, text }, { end, half: null }, 'abcdefgh')).toBe(rest)
  })

  it('treats a trailing surrogate half of the turn as its last unit', () => {
    const row = { end: 3, half: FIRST.charCodeAt(0) }
    expect(unwrittenText({ start: 0, text: `ab${FIRST}${SECOND}` }, row, 'ab')).toBe(SECOND)
    expect(unwrittenText({ start: 0, text: 'abc' }, row, 'ab')).toBeNull()
  })

  it('completes the stored text, regardless of the start of the delta', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.nat(), (whole, a, b) => {
        const end = a % (whole.length + 1)
        const start = b % (end + 1)
        const rest = unwrittenText({ start, text: whole.slice(start) }, { end, half: null }, whole)
        expect(whole.slice(0, end) + rest).toBe(whole)
      }),
    )
  })
})
