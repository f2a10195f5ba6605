// The inbox of a participant: the changes of the list of conversations that it delivers, with their reasons, and the
// changes that it must not deliver.

import type { QueryConfig } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createConversation,
  updateConversation,
  type CreateConversationInput,
} from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { readInbox } from '../../../../../src/domain/turn/journal/inbox.ts'
import { reasonsFor, type InboxEvent } from '../../../../../src/domain/turn/journal/inboxes.ts'
import { MAX_UNREAD_CONVERSATIONS } from '../../../../../src/domain/turn/journal/unread.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import {
  addParticipant,
  markRead,
  removeParticipant,
} from '../../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { isLong } from '../../../../support/long.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { range } from '../../../../support/reading.ts'
import { entry, joined, participantRow, turnRow } from '../../../../support/entries.ts'
import { WRITER } from '../../../../support/writer.ts'
import { nextTime } from '../../../../support/next-time.ts'

describe.each(backends)('an inbox, on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string
  let inboxes: AsyncIterator<InboxEvent>[]

  const newConversation = async (participants: CreateConversationInput['participants']) =>
    (await createConversation(one.deps, ada, { participants })).conversation.id
  const append = (actor: string, more: Partial<TurnInput> = {}) =>
    appendTurn(one.deps, ada, { conversationId, turn: { role: 'USER', content: 'x', actor, ...more } }).then(
      ({ turn }) => turn,
    )
  const open = async (actor: string, more: Partial<TurnInput> = {}) =>
    (
      await openTurn(one.deps, ada, {
        writerToken: WRITER,
        conversationId,
        turn: { role: 'ASSISTANT', actor, ...more },
      })
    ).turn.id

  type Inbox = {
    events: InboxEvent[]
    /** Waits until all earlier changes have arrived, then returns the reasons delivered for the conversation. */
    reasons(of?: string): Promise<string[]>
  }

  async function listen(actor: string, { deps } = other, viewer = ada): Promise<Inbox> {
    const iterable = await readInbox(deps, viewer, { as: actor })
    inboxes.push(iterable)
    const events: InboxEvent[] = []
    void (async () => {
      for await (const event of iterable) events.push(event)
    })()
    return {
      events,
      async reasons(of = conversationId) {
        // Make one more change, which the actor receives after all earlier changes.
        const lastId = (await createConversation(one.deps, viewer, { participants: [{ actor }] })).conversation.id
        await expect.poll(() => events.some((event) => event.conversationId === lastId)).toBe(true)
        return events.filter((event) => event.conversationId === of).map(({ reason }) => reason)
      },
    }
  }

  beforeAll(async () => {
    site = await openSite(backend)
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    inboxes = []
    ada = newViewer()
    conversationId = await newConversation(['ada', 'bob', 'carl'].map((actor) => ({ actor })))
  })
  afterEach(async () => {
    for (const inbox of inboxes) await inbox.return!()
  })

  describe('delivers ADDED', () => {
    it('to the participants with whom a conversation is created', async () => {
      const [bob, eve] = [await listen('bob'), await listen('eve')]
      const createdId = await newConversation([{ actor: 'bob' }, { actor: 'carl' }])
      expect(await bob.reasons(createdId)).toEqual(['ADDED'])
      expect(await eve.reasons(createdId)).toEqual([])
    })

    it('once to an added participant, and to no other actor', async () => {
      const [bob, eve] = [await listen('bob'), await listen('eve')]
      for (const displayName of [null, 'Eve']) {
        await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'eve', displayName } })
      }
      expect(await eve.reasons()).toEqual(['ADDED', 'UPDATED'])
      expect(await bob.reasons()).toEqual(['UPDATED'])
    })

    it('to an actor who joins by appending a turn', async () => {
      const [bob, eve] = [await listen('bob'), await listen('eve')]
      await append('eve')
      expect((await eve.reasons()).sort()).toEqual(['ADDED', 'APPENDED'])
      expect(await bob.reasons()).toEqual(['APPENDED'])
    })
  })

  describe('delivers UNREAD first', () => {
    const titled = async (title: string, actors: string[]) =>
      (await createConversation(one.deps, ada, { title, participants: actors.map((actor) => ({ actor })) }))
        .conversation
    const appendTo = async (conversationId: string, actor: string, more: Partial<TurnInput> = {}) =>
      (await appendTurn(one.deps, ada, { conversationId, turn: { role: 'USER', content: 'x', actor, ...more } })).turn

    it('for each conversation with turns that the participant sees and has not read, the most recently active first', async () => {
      const [old, own, read, left, hidden, recent] = await Promise.all(
        ['old', 'own', 'read', 'left', 'hidden', 'recent'].map((title) => titled(title, ['ada', 'bob', 'carl'])),
      )
      await appendTo(old!.id, 'ada')
      await appendTo(own!.id, 'bob')
      const { seq } = await appendTo(read!.id, 'ada')
      await markRead(one.deps, { ...ada, actor: 'bob' }, { conversationId: read!.id, seq })
      await appendTo(left!.id, 'ada')
      await removeParticipant(one.deps, ada, { conversationId: left!.id, actor: 'bob' })
      await appendTo(hidden!.id, 'ada', { audience: ['carl'] })
      await nextTime()
      const { createdAt } = await appendTo(recent!.id, 'ada', { audience: ['bob'] })
      const bob = await listen('bob')
      await bob.reasons()
      const unread = bob.events.filter(({ reason }) => reason === 'UNREAD')
      expect(unread.map((event) => event.conversationId)).toEqual([recent!.id, old!.id])
      expect(unread[0]!.at.getTime()).toBeGreaterThanOrEqual(createdAt.getTime() - 1_000)
      // The next subscription starts again, without what was read meanwhile.
      await markRead(one.deps, { ...ada, actor: 'bob' }, { conversationId: recent!.id, seq: recent!.lastSeq + 1 })
      const again = await listen('bob', one)
      await again.reasons()
      expect(again.events.filter(({ reason }) => reason === 'UNREAD')).toEqual([
        expect.objectContaining({ conversationId: old!.id }),
      ])
    })

    it.runIf(isLong)(
      `for at most ${MAX_UNREAD_CONVERSATIONS} conversations, page by page, with the changes made meanwhile after them`,
      async () => {
        const count = MAX_UNREAD_CONVERSATIONS + 5
        const conversations: string[] = []
        for (const from of range(0, count / 67 - 1)) {
          const created = await Promise.all(range(1, 67).map((n) => titled(`${from}.${n}`, ['ada', 'bob'])))
          await Promise.all(created.map(({ id }) => appendTo(id, 'ada')))
          conversations.push(...created.map(({ id }) => id))
        }
        expect(conversations).toHaveLength(count)
        const reading = vi.spyOn(other.deps.reads.pool, 'query')
        const inbox = await readInbox(other.deps, ada, { as: 'bob' })
        inboxes.push(inbox)
        const received = [(await inbox.next()).value as InboxEvent]
        // Background work may use the same connections.
        const pages = reading.mock.calls.filter(
          ([call]) => (call as unknown as QueryConfig).name === 'read-unread-conversations',
        )
        expect(pages).toHaveLength(1)
        // The new entry moves this conversation out of the pages that the inbox has not yet read.
        await appendTo(conversations[0]!, 'ada')
        const lastId = (await titled('last', ['bob'])).id
        while (received.at(-1)!.conversationId !== lastId) received.push((await inbox.next()).value)
        reading.mockRestore()
        const unread = received.filter(({ reason }) => reason === 'UNREAD')
        expect(received.slice(0, MAX_UNREAD_CONVERSATIONS)).toEqual(unread)
        expect(unread.map(({ at }) => at.getTime())).toEqual(unread.map(({ at }) => at.getTime()).sort((x, y) => y - x))
        expect(new Set(unread.map(({ conversationId }) => conversationId)).size).toBe(MAX_UNREAD_CONVERSATIONS)
        const failing = await readInbox(other.deps, ada, { as: 'bob' })
        const failure = vi.spyOn(other.deps.reads.pool, 'query').mockImplementation(() => {
          throw new Error('The database is down.')
        })
        await expect(
          (async () => {
            for await (const { reason } of failing) expect(reason).toBe('UNREAD')
          })(),
        ).rejects.toThrow('The database is down.')
        failure.mockRestore()
        expect(await failing.next()).toEqual({ done: true, value: undefined })
        expect(received.slice(MAX_UNREAD_CONVERSATIONS)).toMatchObject([
          { conversationId: conversations[0], reason: 'APPENDED' },
          { conversationId: lastId, reason: 'ADDED' },
        ])
      },
    )

    it('and fails if the conversations cannot be read', async () => {
      const reading = vi.spyOn(other.deps.reads.pool, 'query').mockImplementation(() => {
        throw new Error('The database is down.')
      })
      await expect(readInbox(other.deps, ada, { as: 'bob' })).rejects.toThrow('The database is down.')
      reading.mockRestore()
    })
  })

  it('delivers each change once, and not again with later changes', async () => {
    const eve = await listen('eve')
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'eve' } })
    expect(await eve.reasons()).toEqual(['ADDED'])
    await append('ada')
    expect(await eve.reasons()).toEqual(['ADDED', 'APPENDED'])
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    expect(await eve.reasons()).toEqual(['ADDED', 'APPENDED', 'UPDATED'])
    await append('ada')
    expect(await eve.reasons()).toEqual(['ADDED', 'APPENDED', 'UPDATED', 'APPENDED'])
    await removeParticipant(one.deps, ada, { conversationId, actor: 'eve' })
    expect(await eve.reasons()).toEqual(['ADDED', 'APPENDED', 'UPDATED', 'APPENDED', 'REMOVED'])
    await append('ada')
    expect(await eve.reasons()).toEqual(['ADDED', 'APPENDED', 'UPDATED', 'APPENDED', 'REMOVED'])
  })

  describe('delivers APPENDED', () => {
    it('for a turn that is appended, in every process, to its author as well', async () => {
      const listeners = [await listen('bob', one), await listen('bob', other), await listen('ada')]
      await append('ada')
      for (const inbox of listeners) expect(await inbox.reasons()).toEqual(['APPENDED'])
    })

    it('for a streaming turn when it is committed, not before, and not when it is aborted', async () => {
      const bob = await listen('bob')
      const [committedId, abortedId] = [await open('ada'), await open('ada')]
      await appendDelta(one.deps, ada, { writerToken: WRITER, turnId: committedId, text: 'x' })
      await abortTurn(one.deps, ada, { writerToken: WRITER, turnId: abortedId })
      expect(await bob.reasons()).toEqual([])
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: committedId })
      expect(await bob.reasons()).toEqual(['APPENDED'])
    })

    it('before later changes, even if it takes longer to read', async () => {
      const bob = await listen('bob')
      const { pool } = other.deps
      const query = pool.query.bind(pool) as (...args: unknown[]) => never
      let isDelayed = false
      let release = () => {}
      const released = new Promise<void>((resolve) => (release = resolve))
      const spy = vi.spyOn(pool, 'query').mockImplementation(async (...args: unknown[]) => {
        const { name, values } = args[0] as { name?: string; values?: unknown[] }
        if (name === 'read-journal' && values?.includes(conversationId) && !isDelayed) {
          isDelayed = true
          await released
        }
        return query(...args)
      })
      await append('ada')
      await vi.waitFor(() => expect(isDelayed).toBe(true))
      // The inbox of another process shows when the later change could have been delivered.
      const elsewhere = await listen('bob', one)
      await removeParticipant(one.deps, ada, { conversationId, actor: 'bob' })
      expect(await elsewhere.reasons()).toContain('REMOVED')
      release()
      expect(await bob.reasons()).toEqual(['APPENDED', 'REMOVED'])
      spy.mockRestore()
    })

    it('once for many turns that arrive together', async () => {
      const bob = await listen('bob')
      const turns = range(1, 1000).map((n) => ({ role: 'USER' as const, content: `${n}` }))
      await appendTurns(one.deps, ada, { conversationId, turns })
      expect(await bob.reasons()).toEqual(['APPENDED'])
    })

    it('for each of many conversations', async () => {
      const bob = await listen('bob')
      const conversationIds = await Promise.all(
        range(1, 20).map(() => newConversation([{ actor: 'ada' }, { actor: 'bob' }])),
      )
      await Promise.all(
        conversationIds.map((conversationId) =>
          appendTurn(one.deps, ada, { conversationId, turn: { role: 'USER', content: 'x' } }).then(({ turn }) => turn),
        ),
      )
      await bob.reasons()
      for (const createdId of conversationIds) {
        const reasons = bob.events.flatMap((event) => (event.conversationId === createdId ? event.reason : []))
        expect(reasons.sort()).toEqual(['ADDED', 'APPENDED'])
      }
    })
  })

  it('delivers a private turn to its audience only', async () => {
    const [bob, carl, eve] = [await listen('bob'), await listen('carl'), await listen('eve')]
    const { id } = await append('ada', { audience: ['bob'] })
    const turnId = await open('ada', { audience: ['bob'] })
    await appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text: 'psst' })
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    await supersedeTurn(one.deps, ada, { turnId: id, turn: { role: 'USER', content: 'y' } })
    expect((await bob.reasons()).sort().filter((reason, n, all) => reason !== all[n - 1])).toEqual([
      'APPENDED',
      'UPDATED',
    ])
    expect(await carl.reasons()).toEqual([])
    expect(await eve.reasons()).toEqual([])
  })

  it('delivers READ only to the participant whose read mark moves', async () => {
    const [bob, carl] = [await listen('bob'), await listen('carl')]
    await markRead(one.deps, { ...ada, actor: 'bob' }, { conversationId, seq: 2 })
    await markRead(one.deps, { ...ada, actor: 'bob' }, { conversationId, seq: 1 })
    expect(await bob.reasons()).toEqual(['READ'])
    expect(await carl.reasons()).toEqual([])
  })

  it('delivers UPDATED when the conversation or one of its turns changes', async () => {
    const { id } = await append('ada')
    const [bob, eve] = [await listen('bob'), await listen('eve')]
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    expect(await bob.reasons()).toEqual(['UNREAD', 'UPDATED'])
    await supersedeTurn(one.deps, ada, { turnId: id, turn: { role: 'USER', content: 'y' } })
    expect(await bob.reasons()).toEqual(['UNREAD', 'UPDATED', 'UPDATED'])
    expect(await eve.reasons()).toEqual([])
  })

  it('delivers nothing for changes of facts', async () => {
    const bob = await listen('bob')
    const {
      facts: [fact],
    } = await recordFacts(one.deps, ada, {
      conversationId,
      facts: [{ subject: 'Ada', predicate: 'likes', object: 'tea' }],
    })
    await retractFact(one.deps, ada, { factId: fact!.id })
    expect(await bob.reasons()).toEqual([])
    await append('ada')
    expect(await bob.reasons()).toEqual(['APPENDED'])
  })

  it('delivers REMOVED to a participant who leaves, then nothing until they return', async () => {
    const [bob, carl] = [await listen('bob'), await listen('carl')]
    await removeParticipant(one.deps, ada, { conversationId, actor: 'bob' })
    await append('ada')
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    expect(await bob.reasons()).toEqual(['REMOVED'])
    expect(await carl.reasons()).not.toContain('REMOVED')
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'bob' } })
    expect(await bob.reasons()).toEqual(['REMOVED', 'ADDED'])
  })

  it('delivers DELETED to all participants', async () => {
    const [bob, carl, eve] = [await listen('bob'), await listen('carl'), await listen('eve')]
    await deleteConversation(one.deps, ada, conversationId)
    expect(await bob.reasons()).toEqual(['DELETED'])
    expect(await carl.reasons()).toEqual(['DELETED'])
    expect(await eve.reasons()).toEqual([])
  })

  it('delivers nothing from other tenants, even for actors of the same name', async () => {
    const stranger = await listen('bob', other, newViewer())
    await append('ada')
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    await deleteConversation(one.deps, ada, conversationId)
    expect(await stranger.reasons()).toEqual([])
  })

  it('delivers changes of several conversations at almost the same time in their order', async () => {
    const ids = []
    for (let n = 0; n < 12; n++) ids.push(await newConversation([{ actor: 'ada' }, { actor: 'bob' }]))
    const bob = await listen('bob')
    const order = [...ids.toReversed(), ids[5]!]
    const turn: TurnInput = { role: 'USER', content: 'x' }
    for (const id of order) await appendTurn(one.deps, ada, { conversationId: id, turn })
    await bob.reasons()
    const delivered = bob.events.filter(({ reason }) => reason === 'APPENDED').map((event) => event.conversationId)
    // Both changes of one conversation may be delivered as one, in the place of the second.
    const merged = order.filter((id, index) => order.indexOf(id, index + 1) < 0)
    expect([order, merged]).toContainEqual(delivered)
  })

  it('reports the time of the change', async () => {
    const bob = await listen('bob')
    const before = Date.now()
    await append('ada')
    await bob.reasons()
    const [event] = bob.events
    expect(event).toMatchObject({ conversationId, reason: 'APPENDED' })
    expect(event!.at.getTime()).toBeGreaterThanOrEqual(before)
    expect(event!.at.getTime()).toBeLessThanOrEqual(Date.now())
  })

  it("is the viewer's own without `as`, and rejects invalid names", async () => {
    const iterable = await readInbox(other.deps, ada, {})
    inboxes.push(iterable)
    await append('bob')
    expect((await iterable.next()).value).toMatchObject({ conversationId, reason: 'APPENDED' })
    await expect(readInbox(one.deps, ada, { as: '' })).rejects.toThrow(InvalidInput)
  })

  it('ends when it is stopped, even while it waits', async () => {
    const iterable = await readInbox(one.deps, ada, {})
    const waiting = iterable.next()
    await iterable.return!()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})

describe('the reasons for a change of the list', () => {
  const bob = participantRow('bob', { windows: [3, 7] })
  const appended = (seq: number, audience: string[] | null = null) =>
    entry('TurnAppended', seq, turnRow(`t${seq}`, seq, { audience }))

  it('are each returned once, in the order of their first entries', () => {
    expect([...reasonsFor([joined(3, 'bob'), appended(4), joined(5, 'eve'), appended(6)], bob).keys()]).toEqual([
      'ADDED',
      'APPENDED',
    ])
  })

  it('have the time of the newest entry', () => {
    const at = new Date('2026-02-02T00:00:00Z')
    expect(reasonsFor([appended(4), { ...appended(5), at }], bob)).toEqual(new Map([['APPENDED', at]]))
  })

  it('include a tool call to approve only for a participant that may decide and sees the call', () => {
    const requested = (audience: string[] | null = null) =>
      ({
        type: 'ApprovalRequested',
        conversationId: 'c',
        seq: 4,
        at: new Date(0),
        of: { seq: 4, position: 4, audience },
      }) as never
    expect([...reasonsFor([requested()], { ...bob, mayApprove: true }).keys()]).toEqual(['APPROVAL_REQUESTED'])
    expect(reasonsFor([requested()], { ...bob, mayApprove: false }).size).toBe(0)
    expect(reasonsFor([requested(['ann'])], { ...bob, mayApprove: true }).size).toBe(0)
  })

  it('omit entries that the participant cannot see', () => {
    expect(reasonsFor([appended(2), appended(4, ['ann']), appended(7)], bob).size).toBe(0)
  })
})
