// The position of a reader, step by step: the events it delivers, and the text it delivers after it leaves and rejoins
// the feed.

import { beforeEach, describe, expect, it } from 'vitest'
import type { ConversationEvent } from '../../../../../src/domain/turn/journal/event.ts'
import {
  changeView,
  MAX_ENTRIES_BEHIND,
  isTooFarBehind,
  joinFeed,
  leaveFeed,
  missingContent,
  moveTo,
  replay,
  skipTo,
  startReaderState,
  accept,
  noteReceived,
  type ReaderState,
} from '../../../../../src/domain/turn/journal/reader-state.ts'
import type { OpenPart } from '../../../../../src/store/sql/turn/streaming/open-content.ts'
import { OPEN_VIEW, type View } from '../../../../../src/domain/kernel/view.ts'
import { lines } from '../../../../support/reading.ts'
import { AT, CONVERSATION, entry, superseded, turnRow } from '../../../../support/entries.ts'

const open = (id: string, text: string, audience: string[] | null = null, parts: OpenPart[] = []) => ({
  turn: turnRow(id, 2, { status: 'STREAMING', audience }),
  text,
  parts,
})
const part = (number: number, text: string, isComplete = false): OpenPart => ({
  number,
  at: 1,
  content: { type: 'reasoning' },
  text,
  isComplete,
})
const opened = (id: string) => entry('TurnOpened', 6, turnRow(id, 6, { status: 'STREAMING' }))
const committed = (id: string, text: string) => entry('TurnCommitted', 7, turnRow(id, 6, { text }))
const aborted = (id: string, text: string) => entry('TurnAborted', 7, turnRow(id, 6, { text, status: 'ABORTED' }))
const deletion: ConversationEvent = { type: 'ConversationDeleted', conversationId: CONVERSATION, seq: null, at: AT }
const ANN: View = { actor: 'ann', windows: [1], addressed: true }
const LEFT: View = { actor: 'ann', windows: [1, 5], addressed: true }

describe('a reader at entry 5', () => {
  let state: ReaderState
  beforeEach(() => {
    state = startReaderState(CONVERSATION, 5, OPEN_VIEW)
  })

  it.each([
    ['delivers the next entry and moves to it', 6, true, 6],
    ['does not deliver the entry at its position again', 5, false, 5],
    ['does not deliver an earlier entry', 4, false, 5],
  ])('%s', (_, seq, isDelivered, cursor) => {
    expect(moveTo(state, entry('TurnAppended', seq, turnRow('t', seq)))).toBe(isDelivered)
    expect(state.cursor).toBe(cursor)
  })

  it('delivers ephemeral events and keeps its position', () => {
    expect(moveTo(state, deletion)).toBe(true)
    expect(state.cursor).toBe(5)
  })

  it('delivers only events of its types, and ConversationDeleted and Gap in any case', () => {
    state = startReaderState(CONVERSATION, 5, OPEN_VIEW, new Set(['TurnCommitted', 'PresenceChanged']))
    const gap: ConversationEvent = { type: 'Gap', conversationId: CONVERSATION, seq: null, at: AT, resumeAfterSeq: 9 }
    const accepted = [opened('t'), committed('t', 'text'), gap, deletion].filter((event) => accept(state, event))
    expect(lines(accepted)).toEqual(['7 TurnCommitted', 'Gap', 'ConversationDeleted'])
    expect(state.isOver).toBe(true)
  })

  it('delivers only events in its view', () => {
    const turn = entry('TurnAppended', 6, turnRow('t', 6, { audience: ['ann'] }))
    expect(accept(state, turn)).toBe(false)
    state.view = ANN
    expect(accept(state, turn)).toBe(true)
    state.view = LEFT
    expect(accept(state, turn)).toBe(false)
  })

  it('delivers the deletion once, and nothing after it', () => {
    expect(accept(state, deletion)).toBe(true)
    expect(accept(state, deletion)).toBe(false)
    expect(accept(state, entry('TurnAppended', 6, turnRow('t', 6)))).toBe(false)
  })

  it('delivers all the text of open turns when it joins the feed', () => {
    expect(lines(missingContent(state, OPEN_VIEW, [open('t1', 'abc'), open('t2', '')]))).toEqual(['0-3 abc'])
  })

  it('delivers only the missing text when it rejoins the feed', () => {
    leaveFeed(state, [open('t1', 'abc'), open('t2', 'xyz')], null)
    expect(lines(missingContent(state, OPEN_VIEW, [open('t1', 'abcde'), open('t2', 'xyz'), open('t3', '1')]))).toEqual([
      '3-5 de',
      '0-1 1',
    ])
  })

  it('delivers the event that it skipped when it left the feed', () => {
    const skipped = missingContent(state, OPEN_VIEW, [open('t1', 'abcde')])[0]!
    leaveFeed(state, [open('t1', 'abcde')], { ...skipped, start: 3 })
    expect(lines(missingContent(state, OPEN_VIEW, [open('t1', 'abcdef')]))).toEqual(['3-6 def'])
    leaveFeed(state, [], { ...skipped, start: 4 })
    expect(lines([replay(state, committed('t1', 'abcde'))!])).toEqual(['4-5 e'])
  })

  it('delivers all parts of open turns when it joins the feed, and only what is missing of them when it rejoins', () => {
    const before = open('t1', 'abc', null, [part(1, 'why', true), part(2, 'how')])
    expect(lines(missingContent(state, OPEN_VIEW, [before]))).toEqual(['0-3 abc', '1: 0-3 why.', '2: 0-3 how'])
    leaveFeed(state, [before], null)
    const after = open('t1', 'abc', null, [part(1, 'why', true), part(2, 'how', true), part(3, 'x')])
    expect(lines(missingContent(state, OPEN_VIEW, [after]))).toEqual(['2: 3-3 .', '3: 0-1 x'])
  })

  it.each([
    ['of more text', 'whyso', 3, false, ['1: 3-5 so']],
    ['of the last text', 'whyso', 3, true, ['1: 3-5 so.']],
    ['that opened the part', 'why', 0, false, ['1: 0-3 why']],
    ['that completed the part', 'why', 3, true, ['1: 3-3 .']],
  ])(
    'delivers the delta of a part %s, if it skipped it when it left the feed',
    (_, text, start, isComplete, missing) => {
      const turn = open('t1', '', null, [part(1, text, isComplete)])
      const [delta] = missingContent(state, OPEN_VIEW, [turn])
      leaveFeed(state, [turn], { ...delta!, start })
      expect(lines(missingContent(state, OPEN_VIEW, [turn]))).toEqual(missing)
    },
  )

  it('delivers each delta once, if it must wait between them', () => {
    const turn = open('t1', 'abc', null, [part(1, 'why', true)])
    for (const left of [['0-3 abc', '1: 0-3 why.'], ['1: 0-3 why.'], []]) {
      const deltas = missingContent(state, OPEN_VIEW, [turn])
      expect(lines(deltas)).toEqual(left)
      if (deltas[0]) noteReceived(state, deltas[0])
    }
  })

  it('drops the recorded ends of texts when it rejoins the feed', () => {
    leaveFeed(state, [open('t1', 'abc')], null)
    joinFeed(state, OPEN_VIEW)
    expect(replay(state, committed('t1', 'abcde'))).toBeNull()
  })

  it('delivers all the text of a turn that it could not see when it left', () => {
    leaveFeed(state, [open('t1', 'abc', ['ann'])], null)
    expect(lines(missingContent(state, ANN, [open('t1', 'abcde', ['ann'])]))).toEqual(['0-5 abcde'])
  })

  it('delivers the rest of a turn that closed while the reader was behind, once', () => {
    leaveFeed(state, [open('t1', 'abc'), open('t2', 'abc')], null)
    expect(lines([replay(state, committed('t1', 'abcde'))!])).toEqual(['3-5 de'])
    expect(lines([replay(state, aborted('t2', 'abcd'))!])).toEqual(['3-4 d'])
    expect(replay(state, committed('t1', 'abcde'))).toBeNull()
  })

  it('delivers all the text of a turn that opened and closed while the reader was behind', () => {
    expect(replay(state, opened('t1'))).toBeNull()
    expect(lines([replay(state, committed('t1', 'abc'))!])).toEqual(['0-3 abc'])
  })

  it('delivers all the text of a newer version that opened and closed while the reader was behind', () => {
    const newer = turnRow('t2', 6, { position: 3, status: 'STREAMING' })
    expect(replay(state, superseded(turnRow('t1', 3, { text: 'old' }), newer))).toBeNull()
    expect(lines([replay(state, committed('t2', 'abc'))!])).toEqual(['0-3 abc'])
  })

  it('delivers no text of a turn that it could not see open', () => {
    expect(replay(state, entry('TurnOpened', 6, turnRow('t1', 6)))).toBeNull()
    expect(replay(state, committed('t1', 'abc'))).toBeNull()
    expect(replay(state, committed('t2', 'abc'))).toBeNull()
  })

  it('delivers the text of the open turns that a new view adds, and of no others', () => {
    const turns = [open('t1', 'public'), open('t2', 'private', ['ann']), open('t3', '', ['ann'])]
    expect(lines(changeView(state, ANN, turns))).toEqual(['0-7 private'])
    expect(state.view).toBe(ANN)
    expect(lines(changeView(state, ANN, turns))).toEqual([])
  })

  it(`skips entries if it was live and is more than ${MAX_ENTRIES_BEHIND} entries behind`, () => {
    expect(isTooFarBehind(state, 5 + MAX_ENTRIES_BEHIND + 1)).toBe(false)
    joinFeed(state, OPEN_VIEW)
    expect(isTooFarBehind(state, 5 + MAX_ENTRIES_BEHIND)).toBe(false)
    expect(isTooFarBehind(state, 5 + MAX_ENTRIES_BEHIND + 1)).toBe(true)
    leaveFeed(state, [open('t1', 'abc')], null)
    expect(skipTo(state, 20_000)).toMatchObject({ type: 'Gap', seq: null, resumeAfterSeq: 20_000 })
    expect(state.cursor).toBe(20_000)
    // The reader no longer has the text before the gap, so the text of an open turn starts again at 0.
    expect(lines(missingContent(state, OPEN_VIEW, [open('t1', 'abcde')]))).toEqual(['0-5 abcde'])
  })
})
