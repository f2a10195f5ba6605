// The state of a chat: events become lines, and answers that are being written.

import { describe, expect, it } from 'vitest'
import type { FollowedEvent, Participant, Turn } from '../../../../src/client/index.ts'
import { begin, reduce, type ChatState } from '../../../../src/command/chat/state.ts'

const ada = { actor: 'ada', displayName: 'Ada', leftAt: null } as Participant
const bot = { actor: 'bot', displayName: null, leftAt: null } as Participant
const turn = (seq: number, actor: string, text: string, more: Partial<Turn> = {}) =>
  ({ id: `t${seq}`, seq, actor, text, parts: [], audience: null, status: 'COMMITTED', ...more }) as Turn
const event = (__typename: string, more: object) => ({ __typename, seq: 9, ...more }) as FollowedEvent

const { state: START } = begin('ada', [ada, bot], [])
/** Applies the events. Returns the state, and the texts of the lines that they add. */
function after(events: readonly FollowedEvent[], state: ChatState = START) {
  const texts: string[] = []
  for (const each of events) {
    const change = reduce(state, each)
    state = change.state
    texts.push(...change.lines.map(({ text }) => text))
  }
  return { state, texts }
}

describe('events', () => {
  it.each<[string, FollowedEvent, string[]]>([
    ['a turn', event('TurnAppended', { turn: turn(3, 'bot', 'Hi') }), ['#3 bot: Hi']],
    ['a turn by a name', event('TurnAppended', { turn: turn(3, 'ada', 'Hi') }), ['#3 Ada: Hi']],
    [
      'a whisper',
      event('TurnAppended', { turn: turn(3, 'ada', 'psst', { audience: ['ada', 'bot'] }) }),
      ['#3 Ada (to bot): psst'],
    ],
    [
      'tool calls',
      event('TurnAppended', {
        turn: turn(3, 'bot', '', {
          parts: [{ __typename: 'ToolCallPart', name: 'pay', arguments: { n: 1 } }] as never,
        }),
      }),
      ['#3 bot: [calls pay {"n":1}]'],
    ],
    [
      'an edit',
      event('TurnSuperseded', { turn: { seq: 3 }, by: turn(5, 'bot', 'Ho') }),
      ['#3 was edited:', '#5 bot: Ho'],
    ],
    [
      'a reply that is regenerated',
      event('TurnSuperseded', { turn: { seq: 3 }, by: turn(5, 'bot', '', { status: 'STREAMING' }) }),
      ['#3 is regenerated:'],
    ],
    ['an erasure', event('TurnErased', { turn: turn(3, 'bot', '') }), ['#3 was erased']],
    [
      'a failure',
      event('RunChanged', { run: { id: 'r', actor: 'bot', state: 'FAILED', error: { code: 'X', message: 'm' } } }),
      ['bot: X: m'],
    ],
    ['an escape sequence', event('TurnAppended', { turn: turn(3, 'bot', 'a\u001b[2Jb\u0007') }), ['#3 bot: a[2Jb']],
    ['a deletion', event('ConversationDeleted', {}), ['the conversation was deleted']],
    ['presence', event('PresenceChanged', { participant: bot, state: 'TYPING' }), []],
  ])('shows %s', (_, given, texts) => {
    expect(after([given]).texts).toEqual(texts)
  })

  it('show a reply that is regenerated while it is written, and when it ends', () => {
    const by = turn(5, 'bot', '', { status: 'STREAMING' })
    const opened = event('TurnSuperseded', { turn: { seq: 3 }, by })
    const writing = after([opened, event('TurnDelta', { turnId: 't5', joined: 'In Yo' })])
    expect(writing.state.writing).toEqual([{ turnId: 't5', actor: 'bot', text: 'In Yo' }])
    const ended = after([event('TurnCommitted', { turn: turn(5, 'bot', 'In York.') })], writing.state)
    expect([ended.state.writing, ended.texts]).toEqual([[], ['#5 bot: In York.']])
  })

  it('keep several answers apart while they are written, and show each when it ends', () => {
    const opened = (seq: number, actor: string) =>
      event('TurnOpened', { turn: turn(seq, actor, '', { status: 'STREAMING' }) })
    const delta = (seq: number, joined: string) => event('TurnDelta', { turnId: `t${seq}`, joined })
    const writing = after([opened(4, 'bot'), opened(5, 'fern'), delta(5, 'Wa'), delta(4, 'Let'), delta(5, 'Water')])
    expect(writing.texts).toEqual([])
    expect(writing.state.writing).toEqual([
      { turnId: 't4', actor: 'bot', text: 'Let' },
      { turnId: 't5', actor: 'fern', text: 'Water' },
    ])
    const ended = after(
      [
        event('TurnCommitted', { turn: turn(5, 'fern', 'Water.') }),
        event('TurnAborted', { turn: turn(4, 'bot', 'Let', { status: 'ABORTED', abortReason: 'stopped' }) }),
      ],
      writing.state,
    )
    expect(ended.texts).toEqual(['#5 fern: Water.', '#4 bot (aborted): Let', '  aborted: stopped'])
    expect(ended.state.writing).toEqual([])
  })

  it('keep the names of the present participants, for completion', () => {
    const fern = { actor: 'fern', displayName: 'Fern', leftAt: null } as Participant
    const joined = after([event('ParticipantJoined', { participant: fern })])
    expect([joined.state.names, joined.texts]).toEqual([['ada', 'bot', 'fern'], ['Fern joined']])
    const left = after([event('ParticipantLeft', { participant: { ...fern, leftAt: 'now' } })], joined.state)
    expect([left.state.names, left.texts]).toEqual([['ada', 'bot'], ['Fern left']])
  })

  it('ask for decisions when a tool call waits', () => {
    expect(reduce(START, event('ApprovalRequested', { approval: {} })).asks).toBe(true)
    const run = { id: 'r', actor: 'bot', state: 'WAITING_FOR_APPROVAL', error: null }
    expect(reduce(START, event('RunChanged', { run })).asks).toBe(true)
  })
})

it('a chat begins with the newest turns, and goes on with an answer that is being written', () => {
  const { state, lines } = begin('ada', [ada], [turn(1, 'ada', 'Hi'), turn(2, 'bot', 'We', { status: 'STREAMING' })])
  expect(lines).toEqual([{ text: '#1 Ada: Hi', tone: 'own' }])
  expect(state.writing).toEqual([{ turnId: 't2', actor: 'bot', text: 'We' }])
})
