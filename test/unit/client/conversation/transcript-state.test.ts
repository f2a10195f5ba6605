// The reducer of live transcripts: the effect of each event on the shown turns, and the text of deltas.

import { describe, expect, it } from 'vitest'
import { createJoiner, type FollowedEvent } from '../../../../src/client/conversation/follow.ts'
import type { Conversation, ConversationEvent, Participant, Turn } from '../../../../src/client/generated.ts'
import type { PendingTurn } from '../../../../src/client/conversation/outbox.ts'
import { EMPTY, reduceTranscript, type TranscriptState } from '../../../../src/client/conversation/transcript-state.ts'

const conversation = { id: 'conv_1', lastSeq: 10 } as Conversation
const turn = (position: number, text: string, more: Partial<Turn> = {}): Turn =>
  ({
    id: `turn_${position}_${more.seq ?? position}`,
    seq: position,
    position,
    status: 'COMMITTED',
    text,
    parts: [],
    ...more,
  }) as Turn
const participant = (actor: string, more: Partial<Participant> = {}) =>
  ({ id: `part_${actor}`, actor, ...more }) as Participant

const READ: TranscriptState = reduceTranscript(EMPTY, {
  type: 'read',
  conversation,
  viewer: 'ada',
  participants: [participant('ada')],
  turns: [turn(4, 'four'), turn(7, 'seven'), turn(10, 'ten', { status: 'STREAMING' })],
  hasOlder: true,
})

const event = (type: string, fields: object, seq: number | null = null) =>
  ({ __typename: type, at: '', conversationId: 'conv_1', seq, ...fields }) as unknown as FollowedEvent
const after = (...events: FollowedEvent[]) =>
  events.reduce((state, each) => reduceTranscript(state, { type: 'event', event: each }), READ)
const shown = ({ turns }: TranscriptState) => turns.map(({ position, text, status }) => `${position} ${text} ${status}`)
const SHOWN = ['4 four COMMITTED', '7 seven COMMITTED', '10 ten STREAMING']
const delta = (joined: string) => event('TurnDelta', { turnId: 'turn_10_10', end: joined.length, joined })

describe('the turns of a transcript', () => {
  it.each<[string, FollowedEvent[], string[]]>([
    [
      'an appended turn comes last',
      [event('TurnAppended', { turn: turn(11, 'new') }, 11)],
      [...SHOWN, '11 new COMMITTED'],
    ],
    ['a turn of the history is not repeated', [event('TurnAppended', { turn: turn(7, 'seven') }, 7)], SHOWN],
    [
      'a turn is inserted at its position',
      [event('TurnAppended', { turn: turn(5, 'five') }, 5)],
      [SHOWN[0]!, '5 five COMMITTED', ...SHOWN.slice(1)],
    ],
    ['a turn before the shown part is omitted', [event('TurnAppended', { turn: turn(2, 'two') }, 2)], SHOWN],
    [
      'an edit replaces the text in place',
      [event('TurnSuperseded', { turn: turn(7, 'seven'), by: turn(7, '7!', { seq: 12 }) }, 12)],
      [SHOWN[0]!, '7 7! COMMITTED', SHOWN[2]!],
    ],
    [
      'a version that is streamed replaces the text in place, and grows with its deltas',
      [
        event('TurnSuperseded', { by: turn(7, '', { seq: 12, status: 'STREAMING' }) }, 12),
        event('TurnDelta', { turnId: 'turn_7_12', end: 3, joined: 'new' }),
      ],
      [SHOWN[0]!, '7 new STREAMING', SHOWN[2]!],
    ],
    [
      'a version that was streamed has its final text',
      [
        event('TurnSuperseded', { by: turn(7, '', { seq: 12, status: 'STREAMING' }) }, 12),
        event('TurnCommitted', { turn: turn(7, 'newest', { seq: 12 }) }, 13),
      ],
      [SHOWN[0]!, '7 newest COMMITTED', SHOWN[2]!],
    ],
    [
      'an older version does not replace a newer one',
      [
        event('TurnSuperseded', { by: turn(7, '7!', { seq: 12 }) }, 12),
        event('TurnErased', { turn: turn(7, '', { status: 'ERASED' }) }, 13),
      ],
      [SHOWN[0]!, '7 7! COMMITTED', SHOWN[2]!],
    ],
    [
      'an erased turn loses its text',
      [event('TurnErased', { turn: turn(7, '', { status: 'ERASED' }) }, 13)],
      [SHOWN[0]!, '7  ERASED', SHOWN[2]!],
    ],
    [
      'deltas extend an open turn',
      [delta('ten, el'), delta('ten, eleven')],
      [...SHOWN.slice(0, 2), '10 ten, eleven STREAMING'],
    ],
    ['a delta that the history already contains changes nothing', [delta('te')], SHOWN],
    [
      'the state of an open turn removes no text that deltas added',
      [delta('ten, el'), event('TurnUpdated', { turn: turn(10, 'ten', { status: 'STREAMING' }) }, 11)],
      [...SHOWN.slice(0, 2), '10 ten, el STREAMING'],
    ],
    [
      'a committed turn has its whole text',
      [delta('ten, el'), event('TurnCommitted', { turn: turn(10, 'ten, eleven') }, 11)],
      [...SHOWN.slice(0, 2), '10 ten, eleven COMMITTED'],
    ],
    [
      'the state of an open turn changes nothing after the commit',
      [
        event('TurnCommitted', { turn: turn(10, 'ten!') }, 11),
        event('TurnOpened', { turn: turn(10, 'ten', { status: 'STREAMING' }) }, 10),
      ],
      [...SHOWN.slice(0, 2), '10 ten! COMMITTED'],
    ],
    ['a deleted conversation has no turns', [event('ConversationDeleted', {})], []],
    ['an event of a later version of the server changes nothing', [event('SomethingNew', {}, 11)], SHOWN],
  ])('%s', (_, events, turns) => {
    expect(shown(after(...events))).toEqual(turns)
  })

  it('have the parts of the streamed text', () => {
    expect(after(delta('ten, el')).turns[2]!.parts).toEqual([{ __typename: 'TextPart', text: 'ten, el' }])
  })

  it('begin with older pages once they are read, without repetition', () => {
    const older = reduceTranscript(READ, { type: 'older', turns: [turn(2, 'two'), turn(4, 'four')], hasOlder: false })
    expect(shown(older)).toEqual(['2 two COMMITTED', ...SHOWN])
    expect(older.hasOlder).toBe(false)
  })

  it('are the same object while nothing changes', () => {
    expect(after(delta('te')).turns).toBe(READ.turns)
  })
})

describe('the parts of an open turn', () => {
  const part = (number: number, offset: number, type: string, joined: string, more: object = {}) =>
    event('TurnPartDelta', { turnId: 'turn_10_10', number, offset, type, joined, part: null, ...more })
  const partsOf = ({ turns }: TranscriptState) =>
    turns.at(-1)!.parts.map((each) => ('text' in each ? each.text : each.__typename))

  it('stand where the text ended, as far as they have arrived', () => {
    const call = { callId: 'c1', toolName: 'look' }
    const state = after(
      part(1, 0, 'REASONING', 'Hm.'),
      delta('ten and more'),
      part(2, 4, 'TOOL_CALL', '{"a":', call),
      part(3, 4, 'TOOL_PROGRESS', '50 %', call),
    )
    expect(state.turns.at(-1)!.parts).toEqual([
      { __typename: 'ReasoningPart', reasoning: 'Hm.', signature: null },
      { __typename: 'TextPart', text: 'ten ' },
      { __typename: 'ToolCallPart', callId: 'c1', name: 'look', arguments: '{"a":' },
      { __typename: 'TextPart', text: 'and more' },
    ])
    expect(state.turns.at(-1)!.live!.map(({ joined }) => joined)).toEqual(['Hm.', '{"a":', '50 %'])
  })

  it('stay when the history is read again, and when the turn is shown only then', () => {
    const before = after(part(1, 0, 'REASONING', 'Hm.'), part(2, 3, 'REASONING', 'So'))
    const read = (state: TranscriptState) =>
      reduceTranscript(state, {
        type: 'read',
        conversation,
        viewer: 'ada',
        participants: [],
        turns: [turn(10, 'ten', { status: 'STREAMING' })],
        hasOlder: false,
      })
    const more = part(2, 3, 'REASONING', 'So what')
    for (const state of [before, { ...before, turns: [] }]) {
      const again = reduceTranscript(read(state), { type: 'event', event: more })
      expect(partsOf(again)).toEqual(['ReasoningPart', 'ten', 'ReasoningPart'])
    }
  })

  it('are dropped when the turn has ended', () => {
    const ended = turn(10, 'ten', { parts: [] })
    const state = after(part(1, 0, 'REASONING', 'Hm.'), event('TurnCommitted', { turn: ended }, 11))
    expect(state.turns.at(-1)).toEqual(ended)
    expect(state.live).toEqual({})
  })
})

describe('the pending turns of a transcript', () => {
  const pending = (clientId: string, status: PendingTurn['status'] = 'PENDING') => ({ clientId, status }) as PendingTurn
  const withPending = (...turns: PendingTurn[]) => reduceTranscript(READ, { type: 'outbox', pending: turns })
  const by = (actor: string, position: number) =>
    event('TurnAppended', { turn: turn(position, `by ${actor}`, { actor }) }, position)
  const apply = (state: TranscriptState, ...events: FollowedEvent[]) =>
    events.reduce((each, next) => reduceTranscript(each, { type: 'event', event: next }), state)

  it('move to the turns in one change when they are acknowledged', () => {
    const acknowledged = { clientId: 'a', turn: turn(11, 'by ada', { actor: 'ada' }) }
    const state = reduceTranscript(withPending(pending('a')), { type: 'outbox', pending: [], acknowledged })
    expect([shown(state), state.pending]).toEqual([[...SHOWN, '11 by ada COMMITTED'], []])
  })

  it("hold back the viewer's new turns, which may be the same, until no call runs", () => {
    const held = apply(withPending(pending('a')), by('ada', 11), by('bob', 12))
    expect(shown(held)).toEqual([...SHOWN, '12 by bob COMMITTED'])
    const failed = reduceTranscript(held, { type: 'outbox', pending: [pending('a', 'FAILED')] })
    expect(shown(failed)).toEqual([...SHOWN, '11 by ada COMMITTED', '12 by bob COMMITTED'])
    expect(shown(apply(failed, by('ada', 13))).at(-1)).toBe('13 by ada COMMITTED')
  })

  it('hold back new turns of the viewer also when the history is read again', () => {
    const { conversation: known, viewer, participants, turns, hasOlder } = apply(READ, by('ada', 11), by('bob', 12))
    const again = { type: 'read', conversation: known!, viewer, participants, turns, hasOlder } as const
    const held = reduceTranscript(withPending(pending('a')), again)
    expect(shown(held)).toEqual([...SHOWN, '12 by bob COMMITTED'])
    const ended = reduceTranscript(held, { type: 'outbox', pending: [] })
    expect(shown(ended)).toEqual([...SHOWN, '11 by ada COMMITTED', '12 by bob COMMITTED'])
  })

  it('name the viewer when the first is acknowledged, because it joins by this turn', () => {
    const stranger = { ...withPending(pending('a'), pending('b')), viewer: null }
    expect(shown(apply(stranger, by('bob', 11)))).toEqual(SHOWN)
    const acknowledged = { clientId: 'a', turn: turn(11, 'by ada', { actor: 'ada' }) }
    const joined = reduceTranscript(stranger, { type: 'outbox', pending: [pending('b')], acknowledged })
    expect(joined.viewer).toBe('ada')
    expect(shown(apply(joined, by('bob', 12))).at(-1)).toBe('12 by bob COMMITTED')
  })

  it('of other conversations change nothing', () => {
    const acknowledged = { clientId: 'other', turn: turn(11, 'by ada', { actor: 'ada' }) }
    const state = reduceTranscript(withPending(pending('a')), { type: 'outbox', pending: [pending('a')], acknowledged })
    expect(shown(state)).toEqual(SHOWN)
  })
})

describe('the rest of a transcript', () => {
  it('has participants with their presence, and the conversation', () => {
    const state = after(
      event('PresenceChanged', { participant: participant('bob', { presence: 'TYPING' }) }),
      event('ConversationUpdated', { conversation: { ...conversation, title: 'Tides' } }, 11),
    )
    expect(state.participants.map(({ actor, presence }) => [actor, presence])).toEqual([
      ['ada', undefined],
      ['bob', 'TYPING'],
    ])
    expect(state.conversation?.title).toBe('Tides')
  })

  it.each<[string, FollowedEvent, boolean]>([
    ['a gap', event('Gap', { resumeAfterSeq: 30 }), true],
    [
      "a change of the viewer's own participation",
      event('ParticipantUpdated', { participant: participant('ada') }, 11),
      true,
    ],
    ["a change of another's participation", event('ParticipantLeft', { participant: participant('bob') }, 11), false],
  ])('after %s, the history is read again: %s', (_, each, isStale) => {
    expect(after(each).isStale).toBe(isStale)
  })

  it('resumes after the newest entry, or after a gap', () => {
    expect(after(event('TurnAppended', { turn: turn(11, '') }, 11), delta('te')).lastSeq).toBe(11)
    expect(after(event('Gap', { resumeAfterSeq: 30 })).lastSeq).toBe(30)
  })
})

describe('joined deltas', () => {
  const raw = (start: number, text: string) =>
    ({ __typename: 'TurnDelta', turnId: 't', start, end: start + text.length, text, seq: null }) as ConversationEvent
  const join = (...events: ConversationEvent[]) => events.map(createJoiner())

  it('have the text from the start of the turn', () => {
    expect(join(raw(0, 'Hel'), raw(3, 'lo'))).toMatchObject([
      { joined: 'Hel' },
      { joined: 'Hello', start: 3, text: 'lo' },
    ])
  })

  it('omit the text that was delivered before a lost connection', () => {
    const [, rest, nothing] = join(raw(0, 'Hel'), raw(0, 'Hello'), raw(0, 'Hello'))
    expect(rest).toMatchObject({ text: 'lo', start: 3, end: 5, joined: 'Hello' })
    expect(nothing).toBeNull()
  })

  it('are undefined after missing text', () => {
    expect(join(raw(0, 'Hel'), raw(4, 'o'))[1]).toBeUndefined()
  })

  it('begin again for the next turn', () => {
    const committed = { __typename: 'TurnCommitted', turn: { id: 't' }, seq: 3 } as ConversationEvent
    expect(join(raw(0, 'Hel'), committed, raw(0, 'Hi'))[2]).toMatchObject({ text: 'Hi', joined: 'Hi' })
  })
})
