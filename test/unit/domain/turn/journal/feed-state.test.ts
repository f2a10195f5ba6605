// The reducer of a feed, one input at a time: the emitted events, and the text recorded as emitted.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent, JournalEvent } from '../../../../../src/domain/turn/journal/event.ts'
import {
  changedView,
  changesViews,
  missingFor,
  reduceFeed,
  startFeedState,
  viewOf,
  type FeedInput,
  type FeedState,
} from '../../../../../src/domain/turn/journal/feed-state.ts'
import { OPEN_VIEW } from '../../../../../src/domain/kernel/view.ts'
import { lines } from '../../../../support/reading.ts'
import { AT, CONVERSATION, entry, joined, participantRow, superseded, turnRow } from '../../../../support/entries.ts'

const at = AT
/** A feed at entry 5 with two open turns: t4 with the text 'abc', and t5 without text. */
const start = startFeedState({
  conversationId: CONVERSATION,
  head: 5,
  open: [
    { turn: turnRow('t4', 4), text: 'abc', parts: [] },
    { turn: turnRow('t5', 5), text: '', parts: [] },
  ],
  participants: [participantRow('ann'), participantRow('bob', { addressed: true })],
  visibility: 'OPEN',
})
const closed = (type: 'TurnCommitted' | 'TurnAborted', seq: number, id: string, text: string): FeedInput => ({
  type: 'entry',
  event: entry(type, seq, turnRow(id, 4, { status: type === 'TurnCommitted' ? 'COMMITTED' : 'ABORTED', text })),
  at,
})
const delta = (turnId: string, from: number, text: string): FeedInput => ({
  type: 'delta',
  turnId,
  part: null,
  start: from,
  text,
  at,
})
const texts = ({ open }: FeedState) => [...open.values()].map(({ turn, text }) => `${turn.id}:${text}`).join(' ')

type Case = { input: FeedInput; events: string[]; head?: number; open?: string }

const cases: Record<string, Case> = {
  'an appended turn': {
    input: { type: 'entry', event: entry('TurnAppended', 6, turnRow('t6', 6)), at },
    events: ['6 TurnAppended'],
    head: 6,
  },
  'an opened turn': {
    input: { type: 'entry', event: entry('TurnOpened', 6, turnRow('t6', 6, { status: 'STREAMING' })), at },
    events: ['6 TurnOpened'],
    head: 6,
    open: 't4:abc t5: t6:',
  },
  'an opened turn that is closed already': {
    input: { type: 'entry', event: entry('TurnOpened', 6, turnRow('t6', 6, { status: 'COMMITTED' })), at },
    events: ['6 TurnOpened'],
    head: 6,
  },
  'a newer version that is open': {
    input: {
      type: 'entry',
      event: superseded(turnRow('t3', 3), turnRow('t6', 6, { position: 3, status: 'STREAMING' })),
      at,
    },
    events: ['6 TurnSuperseded'],
    head: 6,
    open: 't4:abc t5: t6:',
  },
  'a newer version that is closed already': {
    input: { type: 'entry', event: superseded(turnRow('t3', 3), turnRow('t6', 6, { position: 3 })), at },
    events: ['6 TurnSuperseded'],
    head: 6,
  },
  'a committed turn, after a delta with its missing text': {
    input: closed('TurnCommitted', 6, 't4', 'abcde'),
    events: ['3-5 de', '6 TurnCommitted'],
    head: 6,
    open: 't5:',
  },
  'an aborted turn, after a delta with its missing text': {
    input: closed('TurnAborted', 6, 't4', 'abcd'),
    events: ['3-4 d', '6 TurnAborted'],
    head: 6,
    open: 't5:',
  },
  'a committed turn whose text is complete': {
    input: closed('TurnCommitted', 6, 't4', 'abc'),
    events: ['6 TurnCommitted'],
    head: 6,
    open: 't5:',
  },
  'a committed turn that is not open in the feed': {
    input: closed('TurnCommitted', 6, 't9', 'abc'),
    events: ['6 TurnCommitted'],
    head: 6,
  },
  'a participant joining': {
    input: { type: 'entry', event: joined(6, 'eve'), at },
    events: ['6 ParticipantJoined'],
    head: 6,
  },
  'a page that ends in an entry without an event': { input: { type: 'pageEnd', seq: 9 }, events: [], head: 9 },
  'a delta that continues the text': { input: delta('t4', 3, 'de'), events: ['3-5 de'], open: 't4:abcde t5:' },
  'a delta that was emitted before': { input: delta('t4', 0, 'abc'), events: [] },
  'a delta that overlaps the text': { input: delta('t4', 1, 'bcde'), events: ['3-5 de'], open: 't4:abcde t5:' },
  'a delta with text missing before it': { input: delta('t4', 4, 'e'), events: [] },
  'a delta of a turn that is not open': { input: delta('t9', 0, 'x'), events: [] },
  'all the text of a turn': {
    input: { type: 'text', turnId: 't5', text: 'xyz', at },
    events: ['0-3 xyz'],
    open: 't4:abc t5:xyz',
  },
  'text that is shorter than the emitted text': { input: { type: 'text', turnId: 't4', text: 'ab', at }, events: [] },
  'the text of a turn that is not open': { input: { type: 'text', turnId: 't9', text: 'ab', at }, events: [] },
  participants: {
    input: { type: 'participants', participants: [participantRow('eve')], visibility: 'OPEN' },
    events: [],
  },
  'a read mark': { input: { type: 'read', participant: participantRow('ann'), at }, events: ['ParticipantRead'] },
  presence: {
    input: { type: 'presence', participant: participantRow('ann'), state: 'TYPING', at },
    events: ['PresenceChanged'],
  },
  deletion: { input: { type: 'deleted', at }, events: ['ConversationDeleted'] },
}

describe('the feed handles', () => {
  it.each(Object.entries(cases))('%s', (_, { input, events, head = 5, open = 't4:abc t5:' }) => {
    const before = structuredClone({ head: start.head, open: texts(start) })
    const step = reduceFeed(start, input)
    expect(lines(step.events)).toEqual(events)
    expect(step.state.head).toBe(head)
    expect(texts(step.state)).toBe(open)
    expect(step.state.deleted).toBe(input.type === 'deleted')
    expect({ head: start.head, open: texts(start) }).toEqual(before)
  })

  it('a read mark and a presence by emitting them with their time and participant', () => {
    const participant = participantRow('ann')
    const common = { conversationId: CONVERSATION, seq: null, at, participant }
    expect(reduceFeed(start, { type: 'read', participant, at }).events).toEqual([
      { ...common, type: 'ParticipantRead' },
    ])
    expect(reduceFeed(start, { type: 'presence', participant, state: 'AWAY', at }).events).toEqual([
      { ...common, type: 'PresenceChanged', state: 'AWAY' },
    ])
  })

  it('a delta by emitting it with its turn, which determines the audience', () => {
    expect(reduceFeed(start, delta('t4', 3, 'd')).events).toEqual([
      {
        type: 'TurnDelta',
        conversationId: CONVERSATION,
        seq: null,
        at,
        turnId: 't4',
        start: 3,
        end: 4,
        text: 'd',
        of: start.open.get('t4')!.turn,
      },
    ])
  })
})

describe('a starting feed', () => {
  it('omits turns opened after its head', () => {
    const open = [4, 5, 6].map((seq) => ({ turn: turnRow(`t${seq}`, seq), text: '', parts: [] }))
    expect(
      texts(startFeedState({ conversationId: CONVERSATION, head: 5, open, participants: [], visibility: 'OPEN' })),
    ).toBe('t4: t5:')
  })
})

describe('before a delta is emitted, the feed reads', () => {
  it.each([
    ['nothing, if the delta continues the text', 't4', 3, null],
    ['nothing, if the delta was emitted before', 't4', 0, null],
    ['the text, if text is missing before the delta', 't4', 4, 'content'],
    ['the entries, if the turn is unknown', 't9', 0, 'entries'],
  ])('%s', (_, turnId, from, missing) => {
    expect(missingFor(start, { turnId, part: null, start: from })).toBe(missing)
  })
})

describe('the views of a feed', () => {
  const restricted = (audience: string[]) => entry('TurnAppended', 6, turnRow('t6', 6, { audience }))

  const changed = (audience: string[] | null): JournalEvent => ({
    ...{ type: 'SharedStateChanged', conversationId: 'conv_1', seq: 6, at: new Date(), key: 'plan', version: 1 },
    ...{ deleted: false, patch: null, actor: 'ann', audience },
  })

  it.each<[string, JournalEvent, boolean]>([
    ['may change with the first private state of a participant', changed(['bob', 'ann']), true],
    ['are the same after a change of public state', changed(null), false],
    ['may change when a participant joins', joined(6, 'eve'), true],
    ['may change with the first private turn for a participant', restricted(['bob', 'ann']), true],
    ['may change with a private turn for an actor who is not a participant', restricted(['eve']), true],
    ['are the same after a public turn', entry('TurnAppended', 6, turnRow('t6', 6)), false],
    ['are the same after another private turn for a participant', restricted(['bob']), false],
  ])('%s', (_, event, mayChange) => {
    expect(changesViews(start, event)).toBe(mayChange)
  })

  it('are those of the participants; all other actors have the open view', () => {
    expect(viewOf(start, 'ann')).toEqual(participantRow('ann'))
    expect(viewOf(start, 'eve')).toBe(OPEN_VIEW)
  })

  it.each([
    ['change when a window closes', participantRow('ann', { windows: [1, 6] }), true],
    ['change with the first private turn', participantRow('ann', { addressed: true }), true],
    ['change for a new participant', participantRow('eve'), true],
    ['do not change with a read mark', participantRow('ann', { lastReadSeq: 3 }), false],
  ])('%s', (_, participant, changed) => {
    const { state } = reduceFeed(start, { type: 'participants', participants: [participant], visibility: 'OPEN' })
    const view = changedView(start, state, participant.actor)
    expect(view).toEqual(changed ? participant : null)
  })

  it('do not change for an actor who is not a participant', () => {
    expect(changedView(start, start, 'eve')).toBeNull()
  })
})

it('the feed emits deltas that join to the text, although the bus loses, repeats and reorders messages', () => {
  const message = fc.oneof(
    fc.record({ type: fc.constant('delta' as const), from: fc.nat(40), length: fc.nat(15) }),
    fc.record({ type: fc.constant('text' as const), length: fc.nat(40) }),
  )
  fc.assert(
    fc.property(fc.string({ minLength: 40, maxLength: 60 }), fc.array(message), (text, messages) => {
      let state = startFeedState({
        conversationId: CONVERSATION,
        head: 0,
        open: [],
        participants: [],
        visibility: 'OPEN',
      })
      const events: ConversationEvent[] = []
      const feed = (input: FeedInput) => {
        const step = reduceFeed(state, input)
        state = step.state
        events.push(...step.events)
        const emittedText = events.map((event) => (event.type === 'TurnDelta' ? event.text : '')).join('')
        expect(state.open.get('t1')?.text ?? text).toBe(emittedText)
      }
      feed({ type: 'entry', event: entry('TurnOpened', 1, turnRow('t1', 1, { status: 'STREAMING' })), at })
      for (const each of messages) {
        if (each.type === 'text') feed({ type: 'text', turnId: 't1', text: text.slice(0, each.length), at })
        else feed(delta('t1', each.from, text.slice(each.from, each.from + each.length)))
      }
      feed(closed('TurnCommitted', 2, 't1', text))
      expect(lines(events).filter((line) => /^\d+ /.test(line))).toEqual(['1 TurnOpened', '2 TurnCommitted'])
      expect(lines(events).at(-1)).toBe('2 TurnCommitted')
    }),
  )
})
