// The lines of the list of events: how events are grouped, and which lines are dropped.

import { describe, expect, it } from 'vitest'
import type { FollowedEvent } from '../../../../src/client/index.ts'
import { NO_LINES, sentEvent, withEvent, withNote, type Lines } from '../../../../src/web/journal/lines.ts'

const AT = '2026-11-29T12:00:00.000Z'
const event = (fields: object) => ({ seq: null, at: AT, conversationId: 'c', ...fields }) as FollowedEvent
const entry = (seq: number) => event({ __typename: 'FactsChanged', seq })
const delta = (turnId: string, text: string) =>
  event({ __typename: 'TurnDelta', turnId, start: 0, end: text.length, text, joined: `all of ${text}` })
const presence = (actor: string, state = 'TYPING') =>
  event({ __typename: 'PresenceChanged', state, participant: { actor } })
const read = (actor: string) => event({ __typename: 'ParticipantRead', participant: { actor } })

const linesOf = (events: FollowedEvent[], limits?: { lines: number; size: number }): Lines =>
  events.reduce((lines, each) => withEvent(lines, each, limits), NO_LINES)

/** Returns each line as its type and its count of events. */
const shapeOf = ({ lines }: Lines) =>
  lines.map((line) => (line.kind === 'note' ? line.text : `${line.event.__typename} ${line.count}`))

describe('groups', () => {
  it.each([
    { name: 'entries each have a line', events: [entry(1), entry(2)], shape: ['FactsChanged 1', 'FactsChanged 1'] },
    { name: 'deltas of one turn', events: [delta('a', 'x'), delta('a', 'y')], shape: ['TurnDelta 2'] },
    {
      name: 'deltas of two turns in turn',
      events: [delta('a', 'x'), delta('b', 'x'), delta('a', 'y'), delta('b', 'y'), delta('a', 'z')],
      shape: ['TurnDelta 3', 'TurnDelta 2'],
    },
    {
      name: 'an entry ends a run',
      events: [delta('a', 'x'), entry(1), delta('a', 'y')],
      shape: ['TurnDelta 1', 'FactsChanged 1', 'TurnDelta 1'],
    },
    {
      name: 'presence and read marks of each actor',
      events: [presence('ada'), read('ada'), presence('bob'), presence('ada', 'ONLINE'), read('ada')],
      shape: ['PresenceChanged 2', 'ParticipantRead 2', 'PresenceChanged 1'],
    },
  ])('$name', ({ events, shape }) => expect(shapeOf(linesOf(events))).toEqual(shape))

  it('counts the characters of deltas, and keeps the newest event', () => {
    const [line] = linesOf([delta('a', 'one'), delta('a', 'three')]).lines
    expect(line).toMatchObject({ id: 0, characters: 8, count: 2, event: { text: 'three' } })
  })

  it('names the author of deltas, if the turn was opened before', () => {
    const opened = event({ __typename: 'TurnOpened', seq: 1, turn: { id: 'a', actor: 'ada' } })
    const { lines } = linesOf([delta('b', 'x'), opened, delta('a', 'x'), delta('a', 'y')])
    expect(lines.map((line) => (line as { author?: string }).author)).toEqual([null, null, 'ada'])
  })

  it('names the author of deltas of a newer version', () => {
    const by = { id: 'a', actor: 'ada' }
    const { lines } = linesOf([event({ __typename: 'TurnSuperseded', seq: 1, turn: {}, by }), delta('a', 'x')])
    expect(lines.at(-1)).toMatchObject({ author: 'ada' })
  })

  it('a note ends a run', () => {
    const before = withNote(linesOf([delta('a', 'x')]), { text: 'lost', tone: 'bad' }, AT)
    expect(shapeOf(withEvent(before, delta('a', 'y')))).toEqual(['TurnDelta 1', 'lost', 'TurnDelta 1'])
  })
})

describe('limits', () => {
  it('drops the oldest lines, and counts them', () => {
    const lines = linesOf([1, 2, 3, 4, 5].map(entry), { lines: 3, size: 1_000_000 })
    expect(lines).toMatchObject({ dropped: 2, count: 5 })
    expect(lines.lines.map(({ id }) => id)).toEqual([2, 3, 4])
  })

  it('drops lines of too many bytes, but keeps the newest', () => {
    const size = JSON.stringify(entry(1)).length
    const lines = linesOf([1, 2, 3, 4].map(entry), { lines: 100, size: 2 * size })
    expect(lines.lines).toHaveLength(2)
    expect(lines.size).toBe(2 * size)
    expect(linesOf([1, 2].map(entry), { lines: 100, size: 1 }).lines).toHaveLength(1)
  })

  it('knows the size of the lines that it keeps', () => {
    const { lines, size } = linesOf([delta('a', 'long text'), entry(1), delta('a', 'x'), delta('a', 'a longer text')])
    expect(size).toBe(lines.reduce((sum, line) => sum + line.size, 0))
  })
})

it('shows a delta as the server sent it', () => {
  expect(sentEvent(delta('a', 'x'))).not.toHaveProperty('joined')
  expect(sentEvent(entry(1))).toEqual(entry(1))
})
