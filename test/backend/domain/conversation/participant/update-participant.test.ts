// Updates of participants: names, metadata, and the history visibility, which changes the view in every read.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import {
  getParticipantDetails,
  getUnreadCounts,
} from '../../../../../src/domain/conversation/participant/participant-details.ts'
import { recall } from '../../../../../src/domain/memory/recall/recall.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { getSummaries } from '../../../../../src/domain/memory/summary/summary.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { countOfTurns, history } from '../../../../../src/domain/turn/history.ts'
import {
  updateParticipant,
  windowsOf,
  type Membership,
} from '../../../../../src/domain/conversation/participant/update-participant.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { lines, read, sawSeq, textOf } from '../../../../support/reading.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const joined = (seq: number): Membership => ({ kind: 'JOINED', seq })
const left = (seq: number): Membership => ({ kind: 'LEFT', seq })

it.each<[memberships: Membership[], all: number[], since: number[]]>([
  [[joined(2)], [1], [2]],
  [
    [joined(2), left(5)],
    [1, 6],
    [2, 6],
  ],
  [[joined(2), left(5), joined(6)], [1], [2, 6, 6]],
  [
    [joined(2), left(5), joined(9), left(9)],
    [1, 10],
    [2, 6, 9, 10],
  ],
])('the windows after %j are %j for ALL and %j for SINCE_JOINED', (memberships, all, since) => {
  expect(windowsOf('ALL', memberships)).toEqual(all)
  expect(windowsOf('SINCE_JOINED', memberships)).toEqual(since)
})

describe.each(backends)('updateParticipant on $name', (backend) => {
  const world = useWorld(backend)

  /** A conversation of ann with three old turns, which bob joins later, and one new turn. */
  async function start(historyVisibility: 'ALL' | 'SINCE_JOINED' = 'SINCE_JOINED') {
    const tenant = world.tenant()
    const [ann, bob] = [tenant.as('ann'), tenant.as('bob')]
    const conversationId = await tenant.newConversation('ann')
    for (const fruit of ['apple', 'pear', 'plum']) await tenant.append(conversationId, 'ann', `an old ${fruit}`)
    await addParticipant(world.deps, ann, { conversationId, participant: { actor: 'bob', historyVisibility } })
    await tenant.append(conversationId, 'ann', 'a new cherry')
    const update = (change: object, viewer = ann) =>
      updateParticipant(world.deps, viewer, { conversationId, actor: 'bob', ...change })
    const metadata = async () =>
      (await getParticipantDetails(world.deps, ann, [{ conversationId, actor: 'bob' }]))[0]!.metadata
    return { tenant, ann, bob, conversationId, update, metadata }
  }

  it('changes the given fields, and writes one entry only if something changes', async () => {
    const { tenant, conversationId, update, metadata } = await start()
    const before = (await tenant.lastSeq(conversationId))!
    const steps: [change: object, displayName: string | null, stored: object, entries: number][] = [
      [{ displayName: 'Bob', metadata: { a: 1, b: { c: 2 } } }, 'Bob', { a: 1, b: { c: 2 } }, 1],
      [
        { displayName: 'Bob', metadata: Object.assign(Object.create(null), { b: { c: 2 }, a: 1 }) },
        'Bob',
        { a: 1, b: { c: 2 } },
        1,
      ],
      [{}, 'Bob', { a: 1, b: { c: 2 } }, 1],
      [{ metadataPatch: { a: null, b: { d: 3 } } }, 'Bob', { b: { c: 2, d: 3 } }, 2],
      [{ metadataPatch: { a: null } }, 'Bob', { b: { c: 2, d: 3 } }, 2],
      [{ displayName: null }, null, { b: { c: 2, d: 3 } }, 3],
      [{ metadata: null }, null, {}, 4],
    ]
    for (const [change, displayName, stored, entries] of steps) {
      expect(await update(change)).toMatchObject({ actor: 'bob', displayName, leftAt: null })
      expect(await metadata()).toEqual(stored)
      expect(await tenant.lastSeq(conversationId)).toBe(before + entries)
    }
  })

  it('sets metadata that a participant keeps when it joins again, unless other metadata is given on joining', async () => {
    const { tenant, ann, conversationId, update, metadata } = await start()
    await update({ metadata: { team: 'red' } })
    await removeParticipant(world.deps, ann, { conversationId, actor: 'bob' })
    await addParticipant(world.deps, ann, { conversationId, participant: { actor: 'bob' } })
    expect(await metadata()).toEqual({ team: 'red' })
    await addParticipant(world.deps, ann, { conversationId, participant: { actor: 'bob', metadata: { team: 'blue' } } })
    expect(await metadata()).toEqual({ team: 'blue' })
    const other = await tenant.newConversation({ actor: 'cyd', metadata: { team: 'green' } }, 'dan')
    const keys = ['cyd', 'dan', 'nobody'].map((actor) => ({ conversationId: other, actor }))
    expect((await getParticipantDetails(world.deps, ann, keys)).map(({ metadata }) => metadata)).toEqual([
      { team: 'green' },
      {},
      {},
    ])
  })

  it('changes what the participant finds in history, counts, summaries, recall and contexts', async () => {
    const { ann, bob, conversationId, update } = await start()
    const { id: summaryId } = await summarize(world.deps, ann, { conversationId })
    const seen = async () => {
      const { hits } = await recall(world.deps, bob, { conversationId, query: 'old apple' })
      const { messages } = await buildContext(world.deps, bob, { conversationId, tokenBudget: 2000 })
      const [unread] = await getUnreadCounts(world.deps, bob, [{ conversationId, actor: 'bob' }])
      return {
        history: (await history(world.deps, bob, [conversationId], {})).get(conversationId)!.length,
        count: (await countOfTurns(world.deps, bob, [conversationId])).get(conversationId)!.turnCount,
        unread,
        summary: (await getSummaries(world.deps, bob, [summaryId])).has(summaryId),
        recall: hits.some(({ memory }) => memory.kind === 'TURN' && memory.turn.text.includes('apple')),
        context: JSON.stringify(messages).includes('apple'),
      }
    }
    const narrow = { history: 1, count: 1, unread: 1, summary: false, recall: false, context: false }
    const whole = { history: 4, count: 4, unread: 4, summary: true, recall: true, context: true }
    expect(await seen()).toEqual(narrow)
    await update({ historyVisibility: 'ALL' })
    expect(await seen()).toEqual(whole)
    await update({ historyVisibility: 'SINCE_JOINED' })
    expect(await seen()).toEqual(narrow)
  })

  it('changes the view of live subscriptions at once', async () => {
    const { tenant, ann, bob, conversationId, update } = await start('ALL')
    const { turn } = await openTurn(world.deps, ann, {
      conversationId,
      writerToken: WRITER,
      turn: { role: 'ASSISTANT' },
    })
    const delta = (text: string) => appendDelta(world.deps, ann, { turnId: turn.id, writerToken: WRITER, text })
    await delta('one ')
    await removeParticipant(world.deps, ann, { conversationId, actor: 'bob' })
    await addParticipant(world.deps, ann, {
      conversationId,
      participant: { actor: 'bob', historyVisibility: 'SINCE_JOINED' },
    })
    const afterSeq = (await tenant.lastSeq(conversationId))!
    const reading = await read(world.deps, bob, { conversationId, afterSeq })
    await update({ historyVisibility: 'ALL' })
    await reading.until('the update', sawSeq(afterSeq + 1))
    await delta('two ')
    await reading.until('the text', ({ events }) =>
      events.some((event) => event.type === 'TurnDelta' && event.end === 8),
    )
    expect(textOf(reading, turn.id)).toBe('one two ')
    await update({ historyVisibility: 'SINCE_JOINED', displayName: 'Bob' })
    await reading.until('the second update', sawSeq(afterSeq + 2))
    expect(reading.events.at(-1)).toMatchObject({
      type: 'ParticipantUpdated',
      participant: { actor: 'bob', displayName: 'Bob', historyVisibility: 'SINCE_JOINED' },
    })
    const before = lines(reading.events)
    await tenant.append(conversationId, 'ann', 'last')
    await reading.until('the last turn', sawSeq(afterSeq + 3))
    expect(lines(reading.events)).toEqual([...before, `${afterSeq + 3} TurnAppended`])
    await reading.stop()
  })

  it('keeps the end of the view of a former participant', async () => {
    const { tenant, ann, bob, conversationId, update } = await start()
    await removeParticipant(world.deps, ann, { conversationId, actor: 'bob' })
    await tenant.append(conversationId, 'ann', 'afterwards')
    const texts = async () =>
      (await history(world.deps, bob, [conversationId], {})).get(conversationId)!.map(({ text }) => text)
    expect(await texts()).toEqual(['a new cherry'])
    expect(await update({ historyVisibility: 'ALL' })).toMatchObject({ leftAt: expect.any(Date) })
    expect(await texts()).toEqual(['an old apple', 'an old pear', 'an old plum', 'a new cherry'])
    await update({ historyVisibility: 'SINCE_JOINED' })
    expect(await texts()).toEqual(['a new cherry'])
  })

  it('rejects unknown actors, other tenants, absent actors of MEMBERS conversations, and invalid input', async () => {
    const { tenant, ann, conversationId, update } = await start()
    await expect(update({ actor: 'nobody' })).rejects.toThrow(NotFound)
    await expect(update({ displayName: 'x' }, world.tenant().as('ann'))).rejects.toThrow(NotFound)
    await expect(update({ historyVisibility: null })).rejects.toThrow(InvalidInput)
    await expect(update({ metadata: {}, metadataPatch: {} })).rejects.toThrow(/must not be given with metadata/)
    await expect(update({ metadata: [] })).rejects.toThrow(/must be a JSON object/)
    await expect(update({ displayName: 'x'.repeat(201) })).rejects.toThrow(/at most 200/)
    await update({ metadata: { big: 'x'.repeat(60_000) } })
    await expect(update({ metadataPatch: { more: 'x'.repeat(60_000) } })).rejects.toThrow(/at most 65536 bytes/)
    await world.deps.db
      .of(SYSTEM)
      .conversation.update({ where: { id: conversationId }, data: { visibility: 'MEMBERS' } })
    await world.deps.db.of(SYSTEM).journal.update({ where: { conversationId }, data: { visibility: 'MEMBERS' } })
    await expect(update({ displayName: 'x' }, tenant.as('stranger'))).rejects.toThrow(NotFound)
    await removeParticipant(world.deps, ann, { conversationId, actor: 'bob' })
    await expect(update({ displayName: 'x' }, tenant.as('bob'))).rejects.toThrow(NotAllowed)
    expect(await update({ displayName: 'x' })).toMatchObject({ displayName: 'x' })
  })
})
