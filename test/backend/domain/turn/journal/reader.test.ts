// One reader of a conversation: the missed entries, then live events, without a gap or a repeat, even if it reads
// slowly.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation, updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import type { Deps } from '../../../../../src/domain/deps.ts'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import {
  addParticipant,
  markRead,
  removeParticipant,
} from '../../../../../src/domain/conversation/participant/participant.ts'
import { setPresence } from '../../../../../src/domain/conversation/presence.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { InvalidInput, NotFound } from '../../../../../src/errors.ts'
import { readLastSeq } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { isLong } from '../../../../support/long.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { deltasOf, lines, range, read, sawSeq, seqsOf, textOf, type Reading } from '../../../../support/reading.ts'
import { WRITER } from '../../../../support/writer.ts'

describe.each(backends)('a reader of a conversation, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string

  const append = (content: string, deps: Deps = one.deps) =>
    appendTurn(deps, ada, { conversationId, turn: { role: 'USER', content } }).then(({ turn }) => turn)
  const appendMany = (from: number, to: number) =>
    appendTurns(one.deps, ada, {
      conversationId,
      turns: range(from, to).map((n) => ({ role: 'USER' as const, content: `turn ${n}` })),
    }).then(({ turns }) => turns)
  const open = async () =>
    (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } })).turn.id
  const write = (turnId: string, text: string) => appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text })
  const from = (after?: number | null, deps: Deps = one.deps) => read(deps, ada, { conversationId, afterSeq: after })
  const head = async () => (await readLastSeq(one.deps.pool, ada, conversationId))!
  const stop = (readings: Reading[]) => Promise.all(readings.map((reading) => reading.stop()))

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    one.wire.drop = other.wire.drop = () => false
    ada = newViewer()
    conversationId = (await createConversation(one.deps, ada, { participants: [{ actor: 'ada' }] })).conversation.id
  })

  it('gets the journal after its cursor, then live events, while turns are appended', async () => {
    const writing = range(1, 8).map(async (writer) => {
      for (const n of range(1, 25)) await append(`${writer}.${n}`, (writer % 2 ? one : other).deps)
    })
    const readings: [after: number, reading: Reading][] = []
    for (const n of range(1, 24)) {
      const deps = (n % 2 ? one : other).deps
      const last = await head()
      const after = [0, 1, Math.floor(last / 2), last][n % 4]!
      readings.push([after, await from(after, deps)])
    }
    await Promise.all(writing)
    const last = await head()
    expect(last).toBe(201)
    for (const [after, reading] of readings) {
      if (after < last) await reading.until('the last turn', sawSeq(last))
      expect(seqsOf(reading)).toEqual(range(after + 1, last))
    }
    await stop(readings.map(([, reading]) => reading))
  })

  it('gets only live events without a cursor', async () => {
    await appendMany(1, 5)
    const readings = [await from(), await from(null, other.deps)]
    const { seq } = await append('next')
    for (const reading of readings) {
      await reading.until('the turn', sawSeq(seq))
      expect(lines(reading.events)).toEqual([`${seq} TurnAppended`])
    }
    await stop(readings)
  })

  it('gets an event for every entry and each ephemeral event, with the current state of its object', async () => {
    const [live, { id }] = [await from(0, other.deps), await append('first')]
    const [committedId, abortedId] = [await open(), await open()]
    await live.until('the openings', sawSeq(4))
    await write(committedId, 'kept')
    await live.until('the text', (each) => textOf(each, committedId) === 'kept')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: committedId })
    await abortTurn(one.deps, ada, { writerToken: WRITER, turnId: abortedId, reason: 'why not' })
    const { turn: newer } = await supersedeTurn(one.deps, ada, {
      turnId: id,
      turn: { role: 'USER', content: 'second' },
    })
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'bob', kind: 'AGENT' } })
    await setPresence(one.deps, { ...ada, actor: 'bob' }, { conversationId, state: 'THINKING' }, null)
    await removeParticipant(one.deps, ada, { conversationId, actor: 'bob' })
    await markRead(one.deps, ada, { conversationId, seq: 9 })
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    const entries = [
      '1 ParticipantJoined',
      '2 TurnAppended',
      '3 TurnOpened',
      '4 TurnOpened',
      '5 TurnCommitted',
      '6 TurnAborted',
      '7 TurnSuperseded',
      '8 ParticipantJoined',
      '9 ParticipantLeft',
      '10 ConversationUpdated',
    ]
    const ephemeral = ['PresenceChanged', 'ParticipantRead']
    await live.until('all', ({ events }) => sawSeq(10)(live) && events.some(({ type }) => type === ephemeral[1]))
    const received = lines(live.events)
    expect(received.filter((line) => ephemeral.includes(line))).toEqual(ephemeral)
    expect(received.filter((line) => !ephemeral.includes(line))).toEqual([
      ...entries.slice(0, 4),
      '0-4 kept',
      ...entries.slice(4),
    ])

    const late = await from(0)
    await late.until('the update', sawSeq(10))
    expect(lines(late.events)).toEqual(entries)
    const [, appended, , , committed, aborted, superseded] = late.events
    expect(appended).toMatchObject({ conversationId, turn: { id, text: 'first', supersededBy: newer.id } })
    expect(committed).toMatchObject({ turn: { id: committedId, text: 'kept', status: 'COMMITTED' } })
    expect(aborted).toMatchObject({ turn: { id: abortedId, status: 'ABORTED', abortReason: 'why not' } })
    expect(superseded).toMatchObject({ turn: { id, text: 'first' }, by: { id: newer.id, text: 'second' } })
    expect(late.events[7]).toMatchObject({ participant: { actor: 'bob', kind: 'AGENT' } })
    await stop([live, late])
  })

  describe('that joins late to an open turn', () => {
    it.each([
      ['from the start', 0],
      ['after its opening', 2],
      ['from now on', null],
    ])('gets one delta from 0 to the current end, then the rest: %s', async (_, after) => {
      const turnId = await open()
      for (const text of ['one ', 'two ', 'three ']) await write(turnId, text)
      const readings = [await from(after), await from(after, other.deps)]
      for (const reading of readings) await reading.until('the text', (each) => textOf(each, turnId).length === 14)
      await write(turnId, 'four')
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
      for (const reading of readings) {
        await reading.until('the commit', sawSeq(3))
        expect(lines(reading.events.filter(({ seq }) => seq !== 1))).toEqual([
          ...(after === 0 ? ['2 TurnOpened'] : []),
          '0-14 one two three ',
          '14-18 four',
          '3 TurnCommitted',
        ])
      }
      await stop(readings)
    })

    it('gets no deltas of a finished turn, only the turn with its text', async () => {
      const [committed, aborted] = [await open(), await open()]
      for (const turnId of [committed, aborted]) await write(turnId, 'text')
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: committed })
      await abortTurn(one.deps, ada, { writerToken: WRITER, turnId: aborted })
      for (const after of [0, 2, 3, 4]) {
        const reading = await from(after, other.deps)
        await reading.until('the end', sawSeq(5))
        expect(lines(reading.events)).toEqual(
          ['1 ParticipantJoined', '2 TurnOpened', '3 TurnOpened', '4 TurnCommitted', '5 TurnAborted'].slice(after),
        )
        expect(reading.events.at(-1)).toMatchObject({ turn: { text: 'text', status: 'ABORTED' } })
        await reading.stop()
      }
    })

    it('gets nothing of a turn that ended before the cursor, even if the process missed the end', async () => {
      const early = await from(0, other.deps)
      const turnId = await open()
      await write(turnId, 'text')
      await early.until('the text', (each) => textOf(each, turnId) === 'text')
      other.wire.drop = () => true
      await write(turnId, ', finished')
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
      const readings = [await from(3, other.deps), await from(null, other.deps)]
      other.wire.drop = () => false
      const { seq } = await append('next')
      for (const reading of readings) {
        await reading.until('the next turn', sawSeq(seq))
        expect(lines(reading.events)).toEqual([`${seq} TurnAppended`])
      }
      await stop([early, ...readings])
    })
  })

  describe('that reads nothing for a while', () => {
    it('gets every entry and all text in the end, and delays no other reader', async () => {
      const turnId = await open()
      const [slow, quick] = [await from(0, other.deps), await from(0, other.deps)]
      await slow.until('the opening', sawSeq(2))
      slow.pause()
      let text = ''
      for (const n of range(1, 6)) {
        await write(turnId, `${n} `)
        text += `${n} `
        await appendMany(1, 100)
      }
      await quick.until('the last turn', sawSeq(602))
      slow.resume()
      await slow.until('the last turn', sawSeq(602))
      await write(turnId, 'end')
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
      for (const reading of [slow, quick]) {
        await reading.until('the commit', sawSeq(603))
        expect(seqsOf(reading)).toEqual(range(1, 603))
        expect(textOf(reading, turnId)).toBe(`${text}end`)
        expect(lines(reading.events).at(-1)).toBe('603 TurnCommitted')
      }
      await stop([slow, quick])
    })

    it('gets the rest of a turn that ended meanwhile', async () => {
      const turnId = await open()
      const slow = await from(0, other.deps)
      await write(turnId, 'seen, ')
      await slow.until('some text', (each) => textOf(each, turnId) !== '')
      slow.pause()
      await appendMany(1, 300)
      await write(turnId, 'unseen')
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
      await appendMany(1, 300)
      slow.resume()
      await slow.until('all', sawSeq(603))
      expect(textOf(slow, turnId)).toBe('seen, unseen')
      expect(seqsOf(slow)).toEqual(range(1, 603))
      const [end] = slow.events.splice(slow.events.findIndex(({ type }) => type === 'TurnCommitted'))
      expect(end).toMatchObject({ turn: { id: turnId } })
      expect(deltasOf(slow, turnId).length).toBeGreaterThan(0)
      await slow.stop()
    })

    it.each([254, 255, 256, 300])('gets one deletion event after %i turns', async (turns) => {
      const slow = await from(null, other.deps)
      const quick = await from(null, other.deps)
      slow.pause()
      // The read in progress still takes this event; later events stay queued.
      await append('taken')
      await slow.until('the turn', sawSeq(2))
      await appendMany(1, turns)
      await quick.until('the last turn', sawSeq(turns + 2))
      await deleteConversation(one.deps, ada, conversationId)
      await quick.until('the end', ({ end }) => end)
      slow.resume()
      await slow.until('the end', ({ end }) => end)
      expect(lines(slow.events).filter((line) => line === 'ConversationDeleted')).toEqual(['ConversationDeleted'])
      expect(slow.end).toBe('complete')
    })

    it.runIf(isLong)(
      'gets a gap event when it is more than 10,000 entries behind, unless it reads from the start',
      async () => {
        const slow = await from(0, other.deps)
        const turnId = await open()
        await write(turnId, 'before')
        await slow.until('the text', (each) => textOf(each, turnId) === 'before')
        slow.pause()
        for (const n of range(0, 10)) await appendMany(n * 1000, n * 1000 + 999)
        const whole = await from(0, other.deps)
        await whole.until('all', sawSeq(11_002))
        expect(seqsOf(whole)).toEqual(range(1, 11_002))
        slow.resume()
        await slow.until('the gap', ({ events }) => events.some(({ type }) => type === 'Gap'))
        const gap = slow.events.findIndex(({ type }) => type === 'Gap')
        expect(slow.events[gap]).toMatchObject({ resumeAfterSeq: 11_002, seq: null })
        const { seq } = await append('after the gap')
        await slow.until('the next turn', sawSeq(seq))
        expect(seqsOf(slow).slice(-2)).toEqual([expect.any(Number), 11_003])
        expect(seqsOf(slow).slice(0, -1)).toEqual(range(1, seqsOf(slow).length - 1))
        await stop([slow, whole])
      },
    )
  })

  it('gets only events of its types, and resumes after its newest seq without gap or repeat', async () => {
    const types = ['TurnDelta', 'TurnCommitted'] as const
    const select = (afterSeq: number, deps: Deps) =>
      read(deps, ada, { conversationId, afterSeq, types: [...types, types[0]] })
    const turnId = await open()
    const readings = [await select(0, one.deps), await select(0, other.deps)]
    await write(turnId, 'one ')
    for (const reading of readings) await reading.until('the text', () => deltasOf(reading, turnId).length > 0)
    await write(turnId, 'two')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    await appendMany(1, 50)
    const second = await open()
    await write(second, 'three')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: second })
    for (const reading of readings) {
      await reading.until('the second turn', sawSeq(55))
      expect(seqsOf(reading)).toEqual([3, 55])
      expect(textOf(reading, turnId)).toBe('one two')
      expect(new Set(reading.events.map(({ type }) => type))).toEqual(new Set(types))
    }
    // The entries after 3 that the first reader did not get have not advanced its newest seq.
    const resumed = await select(3, other.deps)
    await resumed.until('the second turn', sawSeq(55))
    expect(seqsOf(resumed)).toEqual([55])
    await deleteConversation(one.deps, ada, conversationId)
    for (const reading of [...readings, resumed]) {
      await reading.until('the end', ({ end }) => end === 'complete')
      expect(reading.events.at(-1)!.type).toBe('ConversationDeleted')
    }
  })

  it('is rejected with a cursor beyond the head, in an unknown conversation, and with invalid arguments', async () => {
    await appendMany(1, 3)
    const error = await from(5).catch((error: Error) => error)
    expect(error).toBeInstanceOf(InvalidInput)
    expect((error as Error).message).toMatch(/5.* 4/)
    const last = await from(4)
    await last.stop()
    for (const after of [-1, 1.5, 2 ** 31]) await expect(from(after)).rejects.toThrow(InvalidInput)
    const unknown = `conv_${'0'.repeat(26)}`
    await expect(readEventsOf(one.deps, ada, { conversationId: unknown })).rejects.toThrow(NotFound)
    await expect(readEventsOf(one.deps, newViewer(), { conversationId })).rejects.toThrow(NotFound)
    await expect(readEventsOf(one.deps, ada, { conversationId: 'conversation' })).rejects.toThrow(InvalidInput)
    await expect(readEventsOf(one.deps, ada, { conversationId, as: '' })).rejects.toThrow(InvalidInput)
    await expect(readEventsOf(one.deps, ada, { conversationId, types: [] })).rejects.toThrow(
      /^types: must not be empty/,
    )
  })

  it('ends when it is stopped, even while it waits', async () => {
    const iterable = await readEventsOf(one.deps, ada, { conversationId, afterSeq: 0 })
    expect((await iterable.next()).value.type).toBe('ParticipantJoined')
    const waiting = iterable.next()
    await iterable.return!()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await iterable.next()).toEqual({ done: true, value: undefined })
  })
})
