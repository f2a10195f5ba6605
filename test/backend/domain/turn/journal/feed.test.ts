// The feed of a conversation, as its live readers see it: it recovers events that the bus loses, follows changes of
// views, and ends for all readers when the conversation is deleted.

import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createConversation,
  updateConversation,
  type CreateConversationInput,
} from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import type { Deps } from '../../../../../src/domain/deps.ts'
import { CHECK_MS, RETRY } from '../../../../../src/domain/turn/journal/feed.ts'
import { createFeeds } from '../../../../../src/domain/turn/journal/feeds.ts'
import {
  addParticipant,
  markRead,
  removeParticipant,
} from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { fakeClock, type FakeClock } from '../../../../support/fake-clock.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { lines, range, read, sawSeq, textOf, type Reading } from '../../../../support/reading.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

describe.each(backends)('the feed of a conversation, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string

  const newConversation = async (...actors: string[]) => {
    const participants: CreateConversationInput['participants'] = actors.map((actor) => ({ actor }))
    return (await createConversation(one.deps, ada, { participants })).conversation.id
  }
  const append = (content: string, more: Partial<TurnInput> = {}, to = conversationId) =>
    appendTurn(one.deps, ada, { conversationId: to, turn: { role: 'USER', content, ...more } }).then(({ turn }) => turn)
  const open = async (more: Partial<TurnInput> = {}, to = conversationId) =>
    (await openTurn(one.deps, ada, { writerToken: WRITER, conversationId: to, turn: { role: 'ASSISTANT', ...more } }))
      .turn.id
  const write = (turnId: string, text: string) => appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text })
  const as = (actor: string, deps: Deps = other.deps, to = conversationId) =>
    read(deps, ada, { conversationId: to, as: actor })
  const linesOf = ({ events }: Reading, from = 0) => lines(events.slice(from))

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    one.wire.drop = other.wire.drop = () => false
    ada = newViewer()
    conversationId = await newConversation('ada', 'bob')
  })

  it('reads new entries once for any number of readers', async () => {
    const readings = await Promise.all(range(1, 10).map(() => as('bob')))
    const query = vi.spyOn(other.deps.pool, 'query')
    const { seq } = await append('hello')
    await Promise.all(readings.map((reading) => reading.until('the turn', sawSeq(seq))))
    const statements = query.mock.calls.map(([statement]) => (statement as unknown as { name?: string }).name)
    query.mockRestore()
    expect(statements.filter((name) => name === 'read-journal')).toHaveLength(1)
    await Promise.all(readings.map((reading) => reading.stop()))
  })

  it('stops when the last reader stops', async () => {
    const readings = [await as('bob'), await as('bob')]
    for (const reading of readings) await reading.stop()
    const drop = vi.fn<Process['wire']['drop']>(() => false)
    other.wire.drop = drop
    await append('to nobody')
    // A later event has arrived over the same bus, so the earlier one would have arrived, too.
    const reading = await as('bob')
    const { seq } = await append('to somebody')
    await reading.until('the turn', sawSeq(seq))
    expect(drop.mock.calls.filter(([message]) => 'seq' in message && message.seq === seq - 1)).toEqual([])
    await reading.stop()
  })

  it('ends for actors who no longer see the conversation, in every process and while they catch up', async () => {
    const readings = [await as('eve'), await as('eve', one.deps), await as('bob')]
    const behind = await read(other.deps, ada, { conversationId, as: 'eve', afterSeq: 0 })
    await updateConversation(one.deps, ada, { conversationId, visibility: 'MEMBERS' })
    const { seq } = await append('for members')
    const [eve, eveAtOne, bob] = readings as [Reading, Reading, Reading]
    await bob.until('the turn', sawSeq(seq))
    for (const reading of [eve, eveAtOne, behind]) {
      await reading.until('the end', ({ end }) => end === 'complete')
      expect(linesOf(reading).join()).not.toMatch(/TurnAppended|Deleted/)
    }
    await expect(read(other.deps, ada, { conversationId, as: 'eve' })).rejects.toThrow(NotFound)
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'eve' } })
    const again = await as('eve')
    const { seq: next } = await append('for eve, too')
    await again.until('the turn', sawSeq(next))
    await Promise.all([again.stop(), bob.stop()])
  })

  it('reads missed entries and text as soon as the bus is restored', async () => {
    const turnId = await open()
    const reading = await as('bob')
    other.wire.drop = () => true
    await write(turnId, 'unheard')
    const { seq } = await append('unheard, too')
    other.wire.drop = () => false
    other.wire.restore()
    await reading.until('the turn', sawSeq(seq))
    await reading.until('the text', (each) => textOf(each, turnId) === 'unheard')
    await reading.stop()
  })

  describe('after a failure', () => {
    /** Starts a reader in a process whose feeds use a clock of their own. */
    const startReading = async (clock: FakeClock) => {
      const id = await newConversation('ada', 'bob')
      const deps = { ...other.deps, clock }
      deps.feeds = createFeeds(deps)
      onTestFinished(() => deps.feeds.close())
      return { id, reading: await as('bob', deps, id) }
    }
    /** Makes the reads of new entries of the conversation fail while `isBroken` returns true. */
    const breakReads = (id: string, isBroken: () => boolean) => {
      const { pool } = other.deps
      const query = pool.query.bind(pool) as (...args: unknown[]) => never
      const broken = vi.fn((): Promise<never> => Promise.reject(new Error('the connection broke')))
      const spy = vi.spyOn(pool, 'query').mockImplementation((...args: unknown[]) => {
        const { name, values } = args[0] as { name?: string; values?: unknown[] }
        return name === 'read-journal' && values?.includes(id) && isBroken() ? broken() : query(...args)
      })
      onTestFinished(() => spy.mockRestore())
      return broken
    }

    it('checks the database after 5 s, in case the bus lost messages of entries, deltas and the deletion', async () => {
      const clock = fakeClock()
      const [journal, streaming, deleted] = [
        await startReading(clock),
        await startReading(clock),
        await startReading(clock),
      ]
      other.wire.drop = () => true
      const { seq } = await append('unheard', {}, journal.id)
      const turnId = await open({}, streaming.id)
      await write(turnId, 'unheard')
      await deleteConversation(one.deps, ada, deleted.id)
      await clock.advance(CHECK_MS - 1)
      expect([journal, streaming, deleted].flatMap(({ reading }) => reading.events)).toEqual([])
      await clock.advance(1)
      await journal.reading.until('the turn', sawSeq(seq))
      await streaming.reading.until('the text', (each) => textOf(each, turnId) === 'unheard')
      await deleted.reading.until('the end', ({ end }) => end)
      expect(linesOf(deleted.reading)).toEqual(['ConversationDeleted'])
      await Promise.all([journal, streaming].map(({ reading }) => reading.stop()))
    })

    it('delivers entries whose messages are lost while deltas keep arriving', async () => {
      const clock = fakeClock()
      const { id, reading } = await startReading(clock)
      const turnId = await open({}, id)
      await reading.until('the turn', ({ events }) => events.length > 0)
      other.wire.drop = ({ type }) => type === 'entries'
      const { seq } = await append('unheard', {}, id)
      for (let n = 1; n <= 10; n++) {
        await write(turnId, 'bla ')
        await reading.until('the delta', (each) => textOf(each, turnId) === 'bla '.repeat(n))
        expect(reading.events.some((event) => event.seq === seq)).toBe(false)
        await clock.advance(CHECK_MS / 10)
      }
      await reading.until('the turn', sawSeq(seq))
      await reading.stop()
    })

    it('reads entries again if the first read failed', async () => {
      const clock = fakeClock()
      const { id, reading } = await startReading(clock)
      let reads = 0
      const broken = breakReads(id, () => reads++ === 0)
      const { seq } = await append('unread', {}, id)
      await vi.waitFor(() => expect(broken).toHaveBeenCalled())
      await clock.advance(RETRY.firstMs)
      await reading.until('the turn', sawSeq(seq))
      expect(reads).toBeGreaterThan(1)
      await reading.stop()
    })

    it('pauses while every read fails, and logs only the first failure and the recovery', async () => {
      const clock = fakeClock()
      const { id, reading } = await startReading(clock)
      const { log } = other.deps
      let isBroken = true
      const broken = breakReads(id, () => isBroken)
      const logged: string[] = []
      const record = (fields: unknown, message?: string) => {
        if ((fields as { conversationId?: string }).conversationId === id) logged.push(message!)
      }
      const logs = [vi.spyOn(log, 'warn').mockImplementation(record), vi.spyOn(log, 'info').mockImplementation(record)]
      const turnId = await open({}, id)
      for (let n = 0; n < 100; n++) await write(turnId, 'bla ')
      const { seq } = await append('unread', {}, id)
      await vi.waitFor(() => expect(broken).toHaveBeenCalled())
      for (const [retries, ms] of [RETRY.firstMs, 2 * RETRY.firstMs, 4 * RETRY.firstMs].entries()) {
        await clock.advance(ms - 1)
        expect(broken).toHaveBeenCalledTimes(retries + 1)
        await clock.advance(1)
        await vi.waitFor(() => expect(broken).toHaveBeenCalledTimes(retries + 2))
      }
      isBroken = false
      await clock.advance(8 * RETRY.firstMs)
      await reading.until('the turn', sawSeq(seq))
      await reading.until('the text', (each) => textOf(each, turnId) === 'bla '.repeat(100))
      const expected = ['could not read the journal; retrying until it succeeds', 'reading the journal succeeds again']
      await vi.waitFor(() => expect(logged).toEqual(expected))
      for (const each of logs) each.mockRestore()
      await reading.stop()
    })
  })

  it('ends for all readers in every process when the conversation is deleted, and does not start again', async () => {
    const readings = [await as('bob'), await as('eve', one.deps), await as('ada')]
    await deleteConversation(one.deps, ada, conversationId)
    for (const reading of readings) {
      await reading.until('the end', ({ end }) => end)
      expect(linesOf(reading)).toEqual(['ConversationDeleted'])
      expect(reading.end).toBe('complete')
    }
    for (const { deps } of [one, other]) await expect(as('bob', deps)).rejects.toThrow(NotFound)
  })

  it('shows a participant who joins with SINCE_JOINED the turns opened later, and no more text of earlier turns', async () => {
    const early = await open()
    await write(early, 'early ')
    const carl = await as('carl')
    await carl.until('the text so far', (each) => textOf(each, early) === 'early ')
    const from = carl.events.length
    await addParticipant(one.deps, ada, {
      conversationId,
      participant: { actor: 'carl', historyVisibility: 'SINCE_JOINED' },
    })
    await write(early, 'and hidden')
    const late = await open()
    await write(late, 'late')
    await carl.until('the late text', (each) => textOf(each, late) === 'late')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: early })
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: late })
    await carl.until('the second commit', sawSeq(7))
    expect(linesOf(carl, from)).toEqual(['4 ParticipantJoined', '5 TurnOpened', '0-4 late', '7 TurnCommitted'])
    await carl.stop()
  })

  it('shows the leave entry to the participant who leaves, and nothing after it', async () => {
    const turnId = await open()
    await write(turnId, 'before ')
    const bob = await as('bob')
    const eve = await as('eve')
    await bob.until('the text', (each) => textOf(each, turnId) === 'before ')
    await removeParticipant(one.deps, ada, { conversationId, actor: 'bob' })
    await write(turnId, 'after')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    await append('after')
    await markRead(one.deps, ada, { conversationId, seq: 6 })
    await eve.until('the read mark', ({ events }) => events.at(-1)?.type === 'ParticipantRead')
    expect(linesOf(bob)).toEqual(['0-7 before ', '4 ParticipantLeft'])
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'bob' } })
    await append('again')
    await bob.until('the next turn', sawSeq(8))
    expect(linesOf(bob, 2)).toEqual(['7 ParticipantJoined', '8 TurnAppended'])
    await Promise.all([bob.stop(), eve.stop()])
  })

  it('hides everything after the leave entry from the participant who left, even with a late read mark', async () => {
    const bob = await as('bob')
    const eve = await as('eve')
    // Delay the bus message, so that the feed reads the mark only after bob has left.
    other.wire.queue()
    await markRead(one.deps, { ...ada, actor: 'bob' }, { conversationId, seq: 1 })
    await removeParticipant(one.deps, ada, { conversationId, actor: 'bob' })
    await expect.poll(() => other.wire.waiting).toBe(2)
    other.wire.release()
    const { seq } = await append('after')
    await eve.until('the turn', sawSeq(seq))
    await bob.until('the leave entry', sawSeq(seq - 1))
    expect(linesOf(bob).filter((line) => line !== 'ParticipantRead')).toEqual(['3 ParticipantLeft'])
    await Promise.all([bob.stop(), eve.stop()])
  })

  it('delivers the first turn with an audience live, and only to its audience', async () => {
    const [bob, carl, eve] = [await as('bob'), await as('carl'), await as('eve')]
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'carl' } })
    await append('psst', { audience: ['bob'] })
    const turnId = await open({ audience: ['carl'] })
    await write(turnId, 'hush')
    await carl.until('the private text', (each) => textOf(each, turnId) === 'hush')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    const { seq } = await append('hello all')
    for (const reading of [bob, carl, eve]) await reading.until('the public turn', sawSeq(seq))
    expect(linesOf(bob)).toEqual(['3 ParticipantJoined', '4 TurnAppended', '7 TurnAppended'])
    expect(linesOf(carl)).toEqual([
      '3 ParticipantJoined',
      '5 TurnOpened',
      '0-4 hush',
      '6 TurnCommitted',
      '7 TurnAppended',
    ])
    expect(linesOf(eve)).toEqual(['3 ParticipantJoined', '7 TurnAppended'])
    await Promise.all([bob, carl, eve].map((reading) => reading.stop()))
  })

  it('delivers the text of a turn once if the turn is opened while the feed starts', async () => {
    await other.crash()
    const { pool } = other.deps
    let turnId = ''
    const openingPool = Object.create(pool, {
      query: {
        async value(statement: { name?: string }, ...rest: never[]) {
          if (statement.name === 'read-open-turns' && !turnId) {
            turnId = await open()
            await write(turnId, 'quick ')
          }
          return sql(pool).query(statement as never, ...rest)
        },
      },
    }) as Deps['pool']
    const deps: Deps = { ...other.deps, pool: openingPool }
    deps.feeds = createFeeds(deps)
    other.wire.drop = () => true
    const reading = await read(deps, ada, { conversationId, afterSeq: 2 })
    other.wire.drop = () => false
    other.wire.restore()
    await reading.until('the opening', sawSeq(3))
    await write(turnId, 'brown fox')
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    await reading.until('the commit', sawSeq(4))
    // Text that the bus lost arrives with the next poll or the next delta, whichever is first.
    expect(linesOf(reading).filter((line) => /^\d+ /.test(line))).toEqual(['3 TurnOpened', '4 TurnCommitted'])
    expect(linesOf(reading)[0]).toBe('3 TurnOpened')
    expect(textOf(reading, turnId)).toBe('quick brown fox')
    await reading.stop()
    await deps.feeds.close()
  })
})
