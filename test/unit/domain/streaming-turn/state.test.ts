// The state machine of a streaming turn: every state against every event. A new status or event type
// does not compile until the table has a row for it.

import { describe, expect, it } from 'vitest'
import {
  endOf,
  join,
  startsWithSecondHalf,
  step,
  type Event,
  type State,
  type Step,
} from '../../../../src/domain/streaming-turn/state.ts'
import type { TurnStatus } from '../../../../src/store/generated/enums.ts'

const FIRST = '\ud83d'
const SECOND = '\ude00'
const HALF = 0xd83d
const NOW = 100_000
const LEASE = 30_000

/** STREAMING is tested in three states: empty, with text, and with text that ends in the first half of a pair. */
type StateName = 'nothing' | 'text' | 'half' | Exclude<TurnStatus, 'STREAMING'>

const open = (end: number, half: number | null): State => ({
  status: 'STREAMING',
  tail: { end, half },
  aliveAt: NOW - LEASE,
})

const states: Record<StateName, State> = {
  nothing: open(0, null),
  text: open(3, null),
  half: open(3, HALF),
  COMMITTED: { status: 'COMMITTED' },
  ABORTED: { status: 'ABORTED' },
  ERASED: { status: 'ERASED' },
}

const delta = (start: number | null, text: string): Event => ({ type: 'delta', start, text, at: NOW })

const events = {
  'delta: text': delta(null, 'ab'),
  'delta: text at 0': delta(0, 'ab'),
  'delta: text at 3': delta(3, 'ab'),
  'delta: text at 4': delta(4, 'ab'),
  'delta: nothing': delta(null, ''),
  'delta: nothing at 3': delta(3, ''),
  'delta: ends in a first half': delta(null, `a${FIRST}`),
  'delta: a first half': delta(null, FIRST),
  'delta: begins with a second half': delta(null, `${SECOND}b`),
  'delta: begins with a second half at 4': delta(4, `${SECOND}b`),
  'delta: a half in the middle': delta(null, `a${FIRST}b`),
  commit: { type: 'commit' },
  abort: { type: 'abort' },
  'expire: within the lease': { type: 'expire', at: NOW - 1, leaseMs: LEASE },
  'expire: after the lease': { type: 'expire', at: NOW, leaseMs: LEASE },
} satisfies Record<string, Event>
type EventName = keyof typeof events

const _eventNameByType: Record<Event['type'], EventName> = {
  delta: 'delta: text',
  commit: 'commit',
  abort: 'abort',
  expire: 'expire: after the lease',
}
void _eventNameByType

const staysOpen = (
  end: number,
  half: number | null,
  write?: { start: number; text: string; half: number | null },
): Step => ({
  outcome: 'accepted',
  next: { status: 'STREAMING', tail: { end, half }, aliveAt: NOW },
  ...(write && { write }),
})
const writes = (start: number, text: string, half: number | null = null): Step =>
  staysOpen(start + text.length, half, { start, text, half })
const ends = (status: 'COMMITTED' | 'ABORTED'): Step => ({ outcome: 'accepted', next: { status } })
const elsewhere = (end: number): Step => ({ outcome: 'elsewhere', end })
const TORN: Step = { outcome: 'torn' }
const ALIVE: Step = { outcome: 'alive' }

const closed = (status: TurnStatus): Record<EventName, Step> => {
  const step: Step = { outcome: 'closed', status }
  return {
    'delta: text': step,
    'delta: text at 0': step,
    'delta: text at 3': step,
    'delta: text at 4': step,
    'delta: nothing': step,
    'delta: nothing at 3': step,
    'delta: ends in a first half': step,
    'delta: a first half': step,
    'delta: begins with a second half': step,
    'delta: begins with a second half at 4': step,
    'delta: a half in the middle': step,
    commit: step,
    abort: step,
    'expire: within the lease': step,
    'expire: after the lease': step,
  }
}

const table: Record<StateName, Record<EventName, Step>> = {
  nothing: {
    'delta: text': writes(0, 'ab'),
    'delta: text at 0': writes(0, 'ab'),
    'delta: text at 3': elsewhere(0),
    'delta: text at 4': elsewhere(0),
    'delta: nothing': staysOpen(0, null),
    'delta: nothing at 3': elsewhere(0),
    'delta: ends in a first half': writes(0, 'a', HALF),
    'delta: a first half': writes(0, '', HALF),
    'delta: begins with a second half': TORN,
    'delta: begins with a second half at 4': elsewhere(0),
    'delta: a half in the middle': TORN,
    commit: ends('COMMITTED'),
    abort: ends('ABORTED'),
    'expire: within the lease': ALIVE,
    'expire: after the lease': ends('ABORTED'),
  },
  text: {
    'delta: text': writes(3, 'ab'),
    'delta: text at 0': elsewhere(3),
    'delta: text at 3': writes(3, 'ab'),
    'delta: text at 4': elsewhere(3),
    'delta: nothing': staysOpen(3, null),
    'delta: nothing at 3': staysOpen(3, null),
    'delta: ends in a first half': writes(3, 'a', HALF),
    'delta: a first half': writes(3, '', HALF),
    'delta: begins with a second half': TORN,
    'delta: begins with a second half at 4': elsewhere(3),
    'delta: a half in the middle': TORN,
    commit: ends('COMMITTED'),
    abort: ends('ABORTED'),
    'expire: within the lease': ALIVE,
    'expire: after the lease': ends('ABORTED'),
  },
  half: {
    'delta: text': TORN,
    'delta: text at 0': elsewhere(4),
    'delta: text at 3': elsewhere(4),
    'delta: text at 4': TORN,
    'delta: nothing': staysOpen(3, HALF),
    'delta: nothing at 3': elsewhere(4),
    'delta: ends in a first half': TORN,
    'delta: a first half': TORN,
    'delta: begins with a second half': writes(3, `${FIRST}${SECOND}b`),
    'delta: begins with a second half at 4': writes(3, `${FIRST}${SECOND}b`),
    'delta: a half in the middle': TORN,
    commit: ends('COMMITTED'),
    abort: ends('ABORTED'),
    'expire: within the lease': ALIVE,
    'expire: after the lease': ends('ABORTED'),
  },
  COMMITTED: closed('COMMITTED'),
  ABORTED: closed('ABORTED'),
  ERASED: closed('ERASED'),
}

describe('the state machine of a streaming turn', () => {
  for (const [state, row] of Object.entries(table) as [StateName, Record<EventName, Step>][]) {
    for (const [event, expected] of Object.entries(row) as [EventName, Step][]) {
      it(`${state} × ${event} → ${expected.outcome}`, () => {
        expect(step(states[state], events[event])).toEqual(expected)
      })
    }
  }

  it('does not modify the given state', () => {
    const before = structuredClone(states)
    for (const state of Object.values(states)) for (const event of Object.values(events)) step(state, event)
    expect(states).toEqual(before)
  })
})

describe('joining text to the end of a turn', () => {
  const whole = { end: 7, half: null }
  const waiting = { end: 7, half: HALF }

  it.each([
    ['plain text', whole, 'abc', { start: 7, text: 'abc', half: null }],
    ['a surrogate pair', whole, `${FIRST}${SECOND}`, { start: 7, text: `${FIRST}${SECOND}`, half: null }],
    ['a first half at the end', whole, `a${FIRST}`, { start: 7, text: 'a', half: HALF }],
    ['only a first half', whole, FIRST, { start: 7, text: '', half: HALF }],
    ['a second half without a first', whole, SECOND, null],
    ['a first half inside the text', whole, `${FIRST}a`, null],
    ['a second half inside the text', whole, `a${SECOND}b`, null],
    ['two first halves at the end', whole, `${FIRST}${FIRST}`, null],
    ['the second half', waiting, SECOND, { start: 7, text: `${FIRST}${SECOND}`, half: null }],
    [
      'the second half and the next first',
      waiting,
      `${SECOND}${FIRST}`,
      { start: 7, text: `${FIRST}${SECOND}`, half: HALF },
    ],
    ['text instead of the second half', waiting, 'a', null],
    ['another first half', waiting, FIRST, null],
    ['a whole pair instead of the second half', waiting, `${FIRST}${SECOND}`, null],
    ['an empty text without a pending half', whole, '', { start: 7, text: '', half: null }],
    ['an empty text with a pending half', waiting, '', { start: 7, text: '', half: HALF }],
  ])('handles %s', (_, tail, text, expected) => {
    expect(join(tail, text)).toEqual(expected)
  })

  it.each([
    ['', false],
    ['a', false],
    [FIRST, false],
    [SECOND, true],
    [`${SECOND}a`, true],
    [`a${SECOND}`, false],
    ['\ud800', false],
    ['\udbff', false],
    ['\udc00', true],
    ['\udfff', true],
    ['\ue000', false],
  ])('%j completes a pair: %j', (text, expected) => {
    expect(startsWithSecondHalf(text)).toBe(expected)
  })

  it('counts a pending half as one unit, because the writer has sent it', () => {
    expect(endOf(whole)).toBe(7)
    expect(endOf(waiting)).toBe(8)
  })
})
