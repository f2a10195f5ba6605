// Plants a violation of each rule in a correct history, and expects the checker to report that rule.

import { describe, expect, test } from 'vitest'
import { checkHistory, RULE_NAMES, type RuleName } from '../../../../scripts/faults/checker.ts'
import type { Append, Entry, Event, Read, SeenTurn, Stream, Subscription } from '../../../../scripts/faults/history.ts'

type History = { appends: Append[]; stream: Stream; read: Read; subscription: Subscription; entries: Entry[] }

const C = 'conv_1'

/** Ada joins and writes a turn for all, one for Bob only, and a streaming turn. A refused and a lost append follow. */
function correct(): History {
  const turn = (n: number, text: string, invokedAt: number): Append => ({
    type: 'append',
    conversation: C,
    actor: 'ada',
    text,
    clientId: `client-${n}`,
    audience: null,
    invokedAt,
    endedAt: invokedAt + 5,
    outcome: 'ok',
    seq: n,
    turnId: `turn_${n}`,
  })
  const unsent = { seq: undefined, turnId: undefined, endedAt: null }
  const appends: Append[] = [
    turn(2, 'one', 0),
    { ...turn(3, 'for bob', 10), audience: ['bob'] },
    { ...turn(8, 'refused', 40), ...unsent, outcome: 'failed' },
    { ...turn(9, 'lost', 45), ...unsent, outcome: 'unknown' },
    turn(6, 'two', 50),
  ]
  const stream: Stream = { ...turn(4, 'hello world', 20), type: 'stream', acknowledged: 11, end: 'committed' }
  const entry = (seq: number, kind: string, turnId: string | null, text: string | null, audience: string[] | null) => {
    const isTurn = kind === 'APPENDED' || kind === 'OPENED'
    const clientId = isTurn ? `client-${seq}` : null
    const status = turnId && 'COMMITTED'
    return { seq, kind, turnId, text, status, actor: 'ada', audience, clientId } satisfies Entry
  }
  const entries: Entry[] = [
    entry(1, 'JOINED', null, null, null),
    entry(2, 'APPENDED', 'turn_2', 'one', null),
    entry(3, 'APPENDED', 'turn_3', 'for bob', ['ada', 'bob']),
    entry(4, 'OPENED', 'turn_4', 'hello world', null),
    entry(5, 'COMMITTED', 'turn_4', 'hello world', null),
    entry(6, 'APPENDED', 'turn_6', 'two', null),
  ]
  const seen = (seq: number, text: string): SeenTurn => ({ seq, turnId: `turn_${seq}`, text })
  const event = (seq: number, type: string, turnId: string, text: string, status = 'COMMITTED'): Event => ({
    seq,
    type,
    turn: { turnId, text, status },
  })
  const delta = (start: number, text: string): Event => ({
    seq: null,
    type: 'TurnDelta',
    turnId: 'turn_4',
    start,
    end: start + text.length,
    text,
  })
  const read: Read = {
    type: 'read',
    conversation: C,
    viewer: 'cleo',
    invokedAt: 60,
    endedAt: 65,
    after: 0,
    turns: [seen(2, 'one'), seen(4, 'hello'), seen(6, 'two')],
    complete: true,
  }
  const subscription: Subscription = {
    type: 'subscription',
    name: 'cleo by socket',
    conversation: C,
    viewer: 'cleo',
    sessions: [
      {
        after: 0,
        events: [
          { seq: 1, type: 'ParticipantJoined', turn: null },
          event(2, 'TurnAppended', 'turn_2', 'one'),
          event(4, 'TurnOpened', 'turn_4', '', 'STREAMING'),
          delta(0, 'hello'),
        ],
      },
      {
        after: 4,
        events: [
          delta(0, 'hello'),
          delta(5, ' world'),
          event(5, 'TurnCommitted', 'turn_4', 'hello world'),
          event(6, 'TurnAppended', 'turn_6', 'two'),
        ],
      },
    ],
  }
  return { appends, stream, read, subscription, entries }
}

const check = ({ appends, stream, read, subscription, entries }: History) =>
  checkHistory([...appends, stream, read, subscription], new Map([[C, entries]]))

const events = ({ subscription }: History, session: number) => subscription.sessions[session]!.events

const PLANTED: [rule: RuleName, violation: string, plant: (history: History) => unknown][] = [
  ['R1 acknowledged appends are stored', 'an acknowledged turn is missing', ({ entries }) => entries.pop()],
  [
    'R1 acknowledged appends are stored',
    'a turn is stored with another text',
    ({ entries }) => (entries[1]!.text = 'won'),
  ],
  [
    'R1 acknowledged appends are stored',
    'a turn has another seq than the acknowledged one',
    ({ appends }) => (appends[4]!.seq = 5),
  ],
  ['R1 journals are dense, without repeats', 'the journal has a gap', ({ entries }) => entries.splice(4, 1)],
  [
    'R1 journals are dense, without repeats',
    'a retried append is stored twice',
    ({ entries }) => entries.push({ ...entries[5]!, seq: 7, turnId: 'turn_7' }),
  ],
  [
    'R1 journals are dense, without repeats',
    'a retried append is stored twice, without its clientId',
    ({ entries }) => entries.push({ ...entries[5]!, seq: 7, turnId: 'turn_7', clientId: null }),
  ],
  [
    'R2 stored turns were sent',
    'a turn that no client sent is stored',
    ({ entries }) => entries.push({ ...entries[5]!, seq: 7, turnId: 'turn_7', text: 'ghost', clientId: 'client-7' }),
  ],
  [
    'R2 stored turns were sent',
    'a refused turn is stored',
    ({ entries }) => entries.push({ ...entries[5]!, seq: 7, turnId: 'turn_7', text: 'refused', clientId: 'client-8' }),
  ],
  [
    'R2 read turns were sent',
    'a read contains text that no client sent',
    ({ read }) => Object.assign(read.turns[0]!, { text: 'ghost' }),
  ],
  ['R3 a seq names one turn', 'a read contains a turn with another seq', ({ read }) => (read.turns[2]!.seq = 5)],
  ['R4 subscribers miss and repeat nothing', 'an event is lost', (history) => events(history, 0).splice(1, 1)],
  ['R4 subscribers miss and repeat nothing', 'the last event is lost', (history) => events(history, 1).pop()],
  [
    'R4 subscribers miss and repeat nothing',
    'an event is repeated after a resumption',
    (history) => events(history, 1).unshift(events(history, 0)[2]!),
  ],
  [
    'R4 subscribers miss and repeat nothing',
    'events arrive in another order',
    (history) => events(history, 0).push(events(history, 0).splice(1, 1)[0]!),
  ],
  ['R4 no delta is lost', 'a delta in the middle is lost', (history) => events(history, 1).splice(0, 1)],
  ['R4 no delta is lost', 'the last delta is lost', (history) => events(history, 1).splice(1, 1)],
  [
    'R4 no delta is lost',
    'a delta has another range than its text',
    (history) => Object.assign(events(history, 1)[1]!, { end: 12 }),
  ],
  [
    'R5 the order follows real time',
    'a turn that was sent later has a smaller seq',
    ({ appends }) => Object.assign(appends[0]!, { invokedAt: 55, endedAt: 58 }),
  ],
  [
    'R6 reads contain acknowledged turns',
    'a read lacks a turn acknowledged before it',
    ({ read }) => (read.turns = read.turns.slice(0, 2)),
  ],
  ['R6 reads contain acknowledged turns', 'a read has a gap', ({ read }) => (read.turns = read.turns.slice(1))],
  [
    'R7 readers see only their view',
    'a read contains a turn whose audience excludes the viewer',
    ({ read }) => (read.turns = [...read.turns, { seq: 3, turnId: 'turn_3', text: 'for bob' }]),
  ],
  [
    'R7 readers see only their view',
    'a subscriber receives a turn whose audience excludes it',
    (history) =>
      events(history, 0).splice(2, 0, {
        seq: 3,
        type: 'TurnAppended',
        turn: { turnId: 'turn_3', text: 'for bob', status: 'COMMITTED' },
      }),
  ],
  [
    'R7 readers see only their view',
    'a turn is stored without its audience',
    ({ entries, read }) => {
      entries[2]!.audience = null
      read.turns = [...read.turns, { seq: 3, turnId: 'turn_3', text: 'for bob' }]
    },
  ],
  [
    'R8 seen turns do not disappear',
    'a turn that was read no longer exists',
    ({ read }) => (read.turns = [...read.turns, { seq: 7, turnId: 'turn_7', text: 'lost' }]),
  ],
  [
    'R8 seen turns do not disappear',
    'text that was read no longer exists',
    ({ entries, stream }) => {
      stream.end = 'aborted'
      stream.acknowledged = 0
      for (const entry of [entries[3]!, entries[4]!]) Object.assign(entry, { text: 'he', status: 'ABORTED' })
    },
  ],
  [
    'R9 streaming turns end with their text',
    'a streaming turn stays open',
    ({ entries }) => (entries[3]!.status = 'STREAMING'),
  ],
  [
    'R9 streaming turns end with their text',
    'an aborted turn lacks acknowledged text',
    ({ entries, stream }) => {
      stream.end = 'unknown'
      Object.assign(entries[3]!, { text: 'hello', status: 'ABORTED' })
    },
  ],
  [
    'R9 streaming turns end with their text',
    'a turn whose commit was acknowledged is aborted',
    ({ entries }) => (entries[3]!.status = 'ABORTED'),
  ],
]

describe('the checker of histories', () => {
  test('accepts a correct history', () => void expect(check(correct())).toEqual([]))

  test('accepts a stored append that was not acknowledged', () => {
    const history = correct()
    const stored = { seq: 7, turnId: 'turn_7', text: 'lost', clientId: 'client-9' }
    history.entries.push({ ...history.entries[5]!, ...stored })
    events(history, 1).push({
      seq: 7,
      type: 'TurnAppended',
      turn: { turnId: 'turn_7', text: 'lost', status: 'COMMITTED' },
    })
    expect(check(history)).toEqual([])
  })

  test.each(PLANTED)('reports "%s" if %s', (rule, _, plant) => {
    const history = correct()
    plant(history)
    expect(check(history).map((violation) => violation.rule)).toContain(rule)
  })

  test('has a planted violation of every rule', () => {
    expect(new Set(PLANTED.map(([rule]) => rule))).toEqual(new Set(RULE_NAMES))
  })
})
