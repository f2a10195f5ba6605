// The inbox: the changes of a participant's list of conversations that it delivers, with their reasons, and the changes
// that it must not deliver.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createConversation,
  updateConversation,
  type CreateConversationInput,
} from '../../../src/domain/conversation.ts'
import { deleteConversation } from '../../../src/domain/erasure/delete-conversation.ts'
import { readInbox, reasonsFor, type InboxEvent } from '../../../src/domain/event/inbox.ts'
import { recordFacts, retractFact } from '../../../src/domain/fact/record.ts'
import { addParticipant, markRead, removeParticipant } from '../../../src/domain/participant.ts'
import { abortTurn, appendDelta, commitTurn } from '../../../src/domain/streaming-turn/stream.ts'
import { appendTurn, appendTurns, openTurn } from '../../../src/domain/turn/append.ts'
import type { TurnInput } from '../../../src/domain/turn/turn-input.ts'
import { supersedeTurn } from '../../../src/domain/turn/supersede.ts'
import type { Viewer } from '../../../src/domain/view.ts'
import { InvalidInput } from '../../../src/errors.ts'
import { backends } from '../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../support/process.ts'
import { range } from '../../support/reading.ts'
import { entry, joined, participantRow, turnRow } from '../../support/entries.ts'
import { WRITER } from '../../support/writer.ts'

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
        await expect.poll(() => events.some((event) => event.conversationId === lastId), { timeout: 10_000 }).toBe(true)
        await new Promise((resolve) => setTimeout(resolve, 50))
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
      expect((await eve.reasons()).sort()).toEqual(['ADDED', 'TURN'])
      expect(await bob.reasons()).toEqual(['TURN'])
    })
  })

  it('delivers each change once, and not again with later changes', async () => {
    const eve = await listen('eve')
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'eve' } })
    expect(await eve.reasons()).toEqual(['ADDED'])
    await append('ada')
    expect(await eve.reasons()).toEqual(['ADDED', 'TURN'])
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    expect(await eve.reasons()).toEqual(['ADDED', 'TURN', 'UPDATED'])
    await append('ada')
    expect(await eve.reasons()).toEqual(['ADDED', 'TURN', 'UPDATED', 'TURN'])
    await removeParticipant(one.deps, ada, { conversationId, actor: 'eve' })
    expect(await eve.reasons()).toEqual(['ADDED', 'TURN', 'UPDATED', 'TURN', 'REMOVED'])
    await append('ada')
    expect(await eve.reasons()).toEqual(['ADDED', 'TURN', 'UPDATED', 'TURN', 'REMOVED'])
  })

  describe('delivers TURN', () => {
    it('for a turn that is appended, in every process, to its author as well', async () => {
      const listeners = [await listen('bob', one), await listen('bob', other), await listen('ada')]
      await append('ada')
      for (const inbox of listeners) expect(await inbox.reasons()).toEqual(['TURN'])
    })

    it('for a streaming turn when it is committed, not before, and not when it is aborted', async () => {
      const bob = await listen('bob')
      const [committedId, abortedId] = [await open('ada'), await open('ada')]
      await appendDelta(one.deps, ada, { writerToken: WRITER, turnId: committedId, text: 'x' })
      await abortTurn(one.deps, ada, { writerToken: WRITER, turnId: abortedId })
      expect(await bob.reasons()).toEqual([])
      await commitTurn(one.deps, ada, { writerToken: WRITER, turnId: committedId })
      expect(await bob.reasons()).toEqual(['TURN'])
    })

    it('before later changes, even if it takes longer to read', async () => {
      const bob = await listen('bob')
      const { pool } = other.deps
      const query = pool.query.bind(pool) as (...args: unknown[]) => unknown
      let isDelayed = false
      const spy = vi.spyOn(pool, 'query').mockImplementation(async (...args: unknown[]) => {
        const { name, values } = args[0] as { name?: string; values?: unknown[] }
        if (name === 'read-journal' && values?.includes(conversationId) && !isDelayed) {
          isDelayed = true
          await new Promise((resolve) => setTimeout(resolve, 500))
        }
        return query(...args)
      })
      await append('ada')
      await vi.waitFor(() => expect(isDelayed).toBe(true))
      await removeParticipant(one.deps, ada, { conversationId, actor: 'bob' })
      expect(await bob.reasons()).toEqual(['TURN', 'REMOVED'])
      spy.mockRestore()
    })

    it('once for many turns that arrive together', async () => {
      const bob = await listen('bob')
      const turns = range(1, 1000).map((n) => ({ role: 'USER' as const, content: `${n}` }))
      await appendTurns(one.deps, ada, { conversationId, turns })
      expect(await bob.reasons()).toEqual(['TURN'])
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
      for (const createdId of conversationIds) expect((await bob.reasons(createdId)).sort()).toEqual(['ADDED', 'TURN'])
    })
  })

  it('delivers a private turn to its audience only', async () => {
    const [bob, carl, eve] = [await listen('bob'), await listen('carl'), await listen('eve')]
    const { id } = await append('ada', { audience: ['bob'] })
    const turnId = await open('ada', { audience: ['bob'] })
    await appendDelta(one.deps, ada, { writerToken: WRITER, turnId, text: 'psst' })
    await commitTurn(one.deps, ada, { writerToken: WRITER, turnId })
    await supersedeTurn(one.deps, ada, { turnId: id, turn: { role: 'USER', content: 'y' } })
    expect((await bob.reasons()).sort().filter((reason, n, all) => reason !== all[n - 1])).toEqual(['TURN', 'UPDATED'])
    expect(await carl.reasons()).toEqual([])
    expect(await eve.reasons()).toEqual([])
  })

  it('delivers READ to the reader, and only when the mark moves', async () => {
    const [bob, carl] = [await listen('bob'), await listen('carl')]
    await markRead(one.deps, ada, { conversationId, seq: 2, as: 'bob' })
    await markRead(one.deps, ada, { conversationId, seq: 1, as: 'bob' })
    expect(await bob.reasons()).toEqual(['READ'])
    expect(await carl.reasons()).toEqual([])
  })

  it('delivers UPDATED when the conversation or one of its turns changes', async () => {
    const { id } = await append('ada')
    const [bob, eve] = [await listen('bob'), await listen('eve')]
    await updateConversation(one.deps, ada, { conversationId, title: 'new' })
    expect(await bob.reasons()).toEqual(['UPDATED'])
    await supersedeTurn(one.deps, ada, { turnId: id, turn: { role: 'USER', content: 'y' } })
    expect(await bob.reasons()).toEqual(['UPDATED', 'UPDATED'])
    expect(await eve.reasons()).toEqual([])
  })

  it('delivers nothing for facts, which are read in the conversation', async () => {
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
    expect(await bob.reasons()).toEqual(['TURN'])
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

  it('reports the time of the change', async () => {
    const bob = await listen('bob')
    const before = Date.now()
    await append('ada')
    await bob.reasons()
    const [event] = bob.events
    expect(event).toMatchObject({ conversationId, reason: 'TURN' })
    expect(event!.at.getTime()).toBeGreaterThanOrEqual(before)
    expect(event!.at.getTime()).toBeLessThanOrEqual(Date.now())
  })

  it("is the viewer's own without `as`, and rejects invalid names", async () => {
    const iterable = await readInbox(other.deps, ada, {})
    inboxes.push(iterable)
    await append('bob')
    expect((await iterable.next()).value).toMatchObject({ conversationId, reason: 'TURN' })
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
      'TURN',
    ])
  })

  it('have the time of the newest entry', () => {
    const at = new Date('2026-02-02T00:00:00Z')
    expect(reasonsFor([appended(4), { ...appended(5), at }], bob)).toEqual(new Map([['TURN', at]]))
  })

  it('omit entries that the participant cannot see', () => {
    expect(reasonsFor([appended(2), appended(4, ['ann']), appended(7)], bob).size).toBe(0)
  })
})
