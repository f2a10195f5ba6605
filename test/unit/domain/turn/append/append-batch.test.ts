// Selection of the waiting appends for the next statement: in order, within the limits, and never two that exclude
// each other.

import { describe, expect, it } from 'vitest'
import { chooseBatch, rowsByCall, type WaitingAppend } from '../../../../../src/domain/turn/append/append-batch.ts'
import type { AppendCall, AppendedTurn } from '../../../../../src/store/sql/turn/append-call.ts'
import type { AppendRow } from '../../../../../src/store/sql/turn/append-turns.ts'

type Named = WaitingAppend & { name: string }

const turn = (more: Partial<AppendedTurn> = {}): AppendedTurn => ({
  id: 'turn',
  actor: 'ann',
  role: 'USER',
  status: 'COMMITTED',
  text: '',
  tokens: 1,
  ...more,
})

/** A waiting call with its name, the number of its turns and the length of its text. */
function append(name: string, turns = 1, text = 1, more: Partial<AppendCall> = {}): Named {
  const call = {
    conversationId: 'any',
    tenant: 't',
    viewer: 'ann',
    turns: Array.from({ length: turns }, () => turn()),
    ...more,
  }
  return { name, call, text }
}
const keyed = (name: string, clientId: string, actor = 'ann') =>
  append(name, 1, 1, { turns: [turn({ clientId, actor })] })
const expecting = (name: string) => append(name, 1, 1, { expected: 7 })

const LIMITS = { turns: 4, text: 100 }

type Case = { waiting: Record<string, Named[]>; busy?: string[]; chosen: string }

const cases: Record<string, Case> = {
  'nothing, if no call waits': { waiting: {}, chosen: '' },
  'all calls that fit, by conversation and in the order of arrival': {
    waiting: { a: [append('a1'), append('a2')], b: [append('b1'), append('b2')] },
    chosen: 'a1 a2 b1 b2',
  },
  'nothing of a conversation that is in another statement': {
    waiting: { a: [append('a1')], b: [append('b1')], c: [append('c1')] },
    busy: ['a', 'c'],
    chosen: 'b1',
  },
  'nothing, if all conversations are busy': { waiting: { a: [append('a1')] }, busy: ['a'], chosen: '' },
  'no more turns than the limit': {
    waiting: { a: [append('a1', 3), append('a2', 1), append('a3', 1)], b: [append('b1')] },
    chosen: 'a1 a2',
  },
  'no more text than the limit': {
    waiting: { a: [append('a1', 1, 60), append('a2', 1, 40), append('a3', 1, 1)], b: [append('b1')] },
    chosen: 'a1 a2',
  },
  'smaller calls of another conversation instead of one that does not fit': {
    waiting: { a: [append('a1', 2), append('a2', 3), append('a3', 1)], b: [append('b1', 2), append('b2')] },
    chosen: 'a1 b1',
  },
  'only the first call, if it exceeds the limit of turns': {
    waiting: { a: [append('a1', 9), append('a2')], b: [append('b1')] },
    chosen: 'a1',
  },
  'only the first call, if it exceeds the limit of text': {
    waiting: { a: [append('a1', 1, 101), append('a2')], b: [append('b1')] },
    chosen: 'a1',
  },
  'no call that exceeds a limit after another call': {
    waiting: { a: [append('a1')], b: [append('b1', 9)], c: [append('c1')] },
    chosen: 'a1 c1',
  },
  'one of two calls with the same idempotency key of one actor': {
    waiting: { a: [keyed('a1', 'k'), keyed('a2', 'k'), append('a3')], b: [append('b1')] },
    chosen: 'a1 b1',
  },
  'both calls with the same key, of two actors or in two conversations': {
    waiting: { a: [keyed('a1', 'k'), keyed('a2', 'k', 'bob')], b: [keyed('b1', 'k')] },
    chosen: 'a1 a2 b1',
  },
  'a call that expects a seq, and no other call of its conversation': {
    waiting: { a: [expecting('a1'), append('a2')], b: [append('b1'), expecting('b2')], c: [append('c1')] },
    chosen: 'a1 b1 c1',
  },
}

describe('the next batch of appends', () => {
  it.each(Object.entries(cases))('has %s', (_, { waiting, busy = [], chosen }) => {
    const batch = chooseBatch(new Map(Object.entries(waiting)), new Set(busy), true, LIMITS)
    expect(batch.map(({ name }) => name).join(' ')).toBe(chosen)
  })

  it('does not modify the waiting calls', () => {
    const waiting = new Map([['a', [append('a1'), append('a2')]]])
    chooseBatch(waiting, new Set())
    expect(waiting.get('a')).toHaveLength(2)
  })

  it('has either only large calls or only others, and no large calls while they are not allowed', () => {
    const large = (name: string) => append(name, 1, 100_000)
    const waiting = new Map([
      ['a', [large('a1'), append('a2')]],
      ['b', [append('b1'), large('b2')]],
      ['c', [large('c1')]],
    ])
    const namesOf = (allowLarge: boolean) =>
      chooseBatch(waiting, new Set(), allowLarge)
        .map(({ name }) => name)
        .join(' ')
    expect(namesOf(true)).toBe('a1 c1')
    expect(namesOf(false)).toBe('b1')
  })

  it('has at most 512 turns and 4 MiB of text', () => {
    const many = Array.from({ length: 600 }, (_, n) => append(`${n}`))
    expect(chooseBatch(new Map([['a', many]]), new Set())).toHaveLength(512)
    const long = Array.from({ length: 6 }, (_, n) => append(`${n}`, 1, 1024 * 1024))
    expect(chooseBatch(new Map([['a', long]]), new Set())).toHaveLength(4)
  })
})

describe('rows by call', () => {
  it('have the order of the turns, and no key for a call without rows', () => {
    const row = (call: number, index: number): AppendRow => ({
      call,
      index,
      outcome: 'written',
      detail: null,
      id: `${call}.${index}`,
      seq: 1,
      createdAt: new Date(0),
      parts: null,
      mentions: null,
    })
    const byCall = rowsByCall([row(2, 1), row(0, 0), row(2, 0), row(2, 2)])
    expect([...byCall].map(([call, rows]) => [call, rows.map(({ id }) => id)])).toEqual([
      [2, ['2.0', '2.1', '2.2']],
      [0, ['0.0']],
    ])
  })
})
