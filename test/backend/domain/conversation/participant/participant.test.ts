// Participants of a conversation: joining, leaving, returning, read marks and unread counts.

import { describe, expect, it } from 'vitest'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import {
  addParticipant,
  getParticipants,
  getParticipantsByKey,
  markRead,
  removeParticipant,
  windowsAfterJoining,
  windowsAfterLeaving,
  type AddParticipantInput,
} from '../../../../../src/domain/conversation/participant/participant.ts'
import { getUnreadCounts, MAX_UNREAD } from '../../../../../src/domain/conversation/participant/participant-details.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { readJournal } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

describe('windows', () => {
  it.each<[number[], 'ALL' | 'SINCE_JOINED', number, number[]]>([
    [[], 'ALL', 3, [1]],
    [[], 'SINCE_JOINED', 3, [3]],
    [[3, 6], 'SINCE_JOINED', 9, [3, 6, 9]],
    [[3, 6], 'ALL', 9, [1]],
  ])('%j, on joining with %s at seq %d, become %j', (before, history, seq, after) => {
    expect(windowsAfterJoining(before, history, seq)).toEqual(after)
  })

  it.each([
    [[1], 5, [1, 6]],
    [[3, 6, 9], 9, [3, 6, 9, 10]],
  ])('%j, on leaving at seq %d, become %j', (before, seq, after) => {
    expect(windowsAfterLeaving(before, seq)).toEqual(after)
  })
})

describe.each(backends)('participants on $name', (backend) => {
  const world = useWorld(backend)

  const join = (tenant: Tenant, conversationId: string, participant: AddParticipantInput['participant']) =>
    addParticipant(world.deps, tenant.as('owner'), { conversationId, participant })
  const leave = (tenant: Tenant, conversationId: string, actor: string) =>
    removeParticipant(world.deps, tenant.as('owner'), { conversationId, actor })
  /** The stored windows, which no read returns. */
  const windowsOf = async (conversationId: string, actor: string) => {
    const key = { conversationId_actor: { conversationId, actor } }
    return (await world.deps.db.of(SYSTEM).participant.findUniqueOrThrow({ where: key })).windows
  }
  const read = (tenant: Tenant, conversationId: string, actor: string, seq: number) =>
    markRead(world.deps, tenant.as(actor), { conversationId, seq })
  const unread = async (tenant: Tenant, conversationId: string, actor: string, viewer = actor) =>
    (await getUnreadCounts(world.deps, tenant.as(viewer), [{ conversationId, actor }]))[0]
  const textsOf = async (tenant: Tenant, conversationId: string, actor: string) =>
    (await pageOfTurns(world.deps, tenant.as(actor), [conversationId], {}))
      .get(conversationId)!
      .items.map(({ text }) => text)
      .join('')
  const kindsOf = async (tenant: Tenant, conversationId: string) =>
    (await readJournal(world.deps.pool, tenant.name, conversationId, { after: 0, limit: 100 }))
      .map(({ kind }) => kind)
      .join(' ')

  describe('joining', () => {
    it('writes an entry, and shows the whole history by default', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      await tenant.append(conversationId, 'ann', '1')
      const bob = await join(tenant, conversationId, { actor: 'bob', kind: 'AGENT', displayName: 'Bob' })
      const cyd = await join(tenant, conversationId, { actor: 'cyd', historyVisibility: 'SINCE_JOINED' })
      expect(bob).toMatchObject({
        actor: 'bob',
        kind: 'AGENT',
        displayName: 'Bob',
        historyVisibility: 'ALL',
        leftAt: null,
        lastReadSeq: 0,
      })
      expect(cyd).toMatchObject({ kind: 'HUMAN', displayName: null, historyVisibility: 'SINCE_JOINED' })
      expect(await windowsOf(conversationId, 'cyd')).toEqual([4])
      expect(cyd).not.toHaveProperty('windows')
      await tenant.append(conversationId, 'ann', '2')
      expect(await textsOf(tenant, conversationId, 'bob')).toBe('12')
      expect(await textsOf(tenant, conversationId, 'cyd')).toBe('2')
      expect(await kindsOf(tenant, conversationId)).toBe('JOINED APPENDED JOINED JOINED APPENDED')
    })

    it('again updates displayName but not historyVisibility or joinedAt, and writes an entry only if a field changes', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation({
        actor: 'bob',
        kind: 'AGENT',
        displayName: 'Bob',
        historyVisibility: 'SINCE_JOINED',
      })
      const before = (await getParticipants(world.deps, tenant.as('x'), [conversationId])).get(conversationId)![0]!
      const same = await join(tenant, conversationId, { actor: 'bob', historyVisibility: 'ALL' })
      expect(same).toEqual(before)
      expect(await tenant.lastSeq(conversationId)).toBe(1)
      const renamed = await join(tenant, conversationId, { actor: 'bob', displayName: 'Robert' })
      expect(renamed).toMatchObject({
        kind: 'AGENT',
        displayName: 'Robert',
        historyVisibility: 'SINCE_JOINED',
        joinedAt: before.joinedAt,
      })
      expect(await kindsOf(tenant, conversationId)).toBe('JOINED UPDATED')
    })

    it('by concurrent calls writes one entry for each participant', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation()
      await Promise.all(Array.from({ length: 24 }, (_, n) => join(tenant, conversationId, { actor: `a${n % 12}` })))
      expect(await tenant.lastSeq(conversationId)).toBe(12)
      expect((await getParticipants(world.deps, tenant.as('x'), [conversationId])).get(conversationId)).toHaveLength(12)
    })
  })

  it('are read by key in the order of the keys; null if the actor never joined or the viewer does not see the conversation', async () => {
    const tenant = world.tenant()
    const open = await tenant.newConversation('ann', 'bob')
    const { conversation } = await createConversation(world.deps, tenant.as('ann'), {
      visibility: 'MEMBERS',
      participants: [{ actor: 'ann', displayName: 'Ann' }],
    })
    const hidden = conversation.id
    await leave(tenant, open, 'bob')
    const keys = [
      { conversationId: hidden, actor: 'ann' },
      { conversationId: open, actor: 'nobody' },
      { conversationId: open, actor: 'bob' },
      { conversationId: open, actor: 'ann' },
    ]
    const read = async (viewer: { tenant: string; actor: string }) =>
      (await getParticipantsByKey(world.deps, viewer, keys)).map(
        (found) => found && [found.actor, found.leftAt !== null],
      )
    expect(await read(tenant.as('ann'))).toEqual([['ann', false], null, ['bob', true], ['ann', false]])
    expect(await read(tenant.as('bob'))).toEqual([null, null, ['bob', true], ['ann', false]])
    expect(await read(world.tenant().as('ann'))).toEqual([null, null, null, null])
    expect((await getParticipantsByKey(world.deps, tenant.as('ann'), keys))[0]).not.toHaveProperty('windows')
  })

  describe('leaving', () => {
    it('writes an entry that the leaving participant can still see, and ends their history', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      await tenant.append(conversationId, 'ann', '1')
      const events = await readEventsOf(world.deps, tenant.as('bob'), { conversationId, afterSeq: 3 })
      const bob = await leave(tenant, conversationId, 'bob')
      expect(bob.leftAt).toBeInstanceOf(Date)
      expect(await windowsOf(conversationId, 'bob')).toEqual([1, 5])
      await tenant.append(conversationId, 'ann', '2')
      expect(await textsOf(tenant, conversationId, 'bob')).toBe('1')
      const { value } = await events.next()
      expect(value).toMatchObject({ type: 'ParticipantLeft', seq: 4, participant: { actor: 'bob' } })
      await events.return!()
    })

    it('fails for an actor who was never a participant, and returns a former participant unchanged', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('bob')
      const left = await leave(tenant, conversationId, 'bob')
      expect(await leave(tenant, conversationId, 'bob')).toEqual(left)
      await expect(leave(tenant, conversationId, 'nobody')).rejects.toThrow(NotFound)
      expect(await tenant.lastSeq(conversationId)).toBe(2)
    })

    it('can be repeated in a MEMBERS conversation by the former participant, who cannot remove another participant', async () => {
      const tenant = world.tenant()
      const { conversation } = await createConversation(world.deps, tenant.as('ann'), {
        visibility: 'MEMBERS',
        participants: [{ actor: 'bob' }, { actor: 'eve' }],
      })
      const conversationId = conversation.id
      const remove = (by: string, actor: string) =>
        removeParticipant(world.deps, tenant.as(by), { conversationId, actor })
      const left = await remove('bob', 'bob')
      expect(await remove('bob', 'bob')).toEqual(left)
      await expect(remove('bob', 'eve')).rejects.toThrow(NotAllowed)
      await expect(remove('stranger', 'stranger')).rejects.toThrow(NotFound)
    })

    it('prevents rejoining by a turn if another actor has also removed the participant', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('bob')
      await removeParticipant(world.deps, tenant.as('bob'), { conversationId, actor: 'bob' })
      await leave(tenant, conversationId, 'bob')
      await removeParticipant(world.deps, tenant.as('bob'), { conversationId, actor: 'bob' })
      await expect(tenant.append(conversationId, 'bob', 'back')).rejects.toThrow(NotAllowed)
    })

    it('and returning with SINCE_JOINED shows entries before and after the absence, but no entries during it', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', { actor: 'bob', historyVisibility: 'SINCE_JOINED' })
      for (const round of [1, 3]) {
        await tenant.append(conversationId, 'ann', `${round}`)
        await leave(tenant, conversationId, 'bob')
        await tenant.append(conversationId, 'ann', `${round + 1}`)
        await join(tenant, conversationId, { actor: 'bob', historyVisibility: 'SINCE_JOINED' })
      }
      await tenant.append(conversationId, 'ann', '5')
      expect(await textsOf(tenant, conversationId, 'bob')).toBe('135')
      const all = (await getParticipants(world.deps, tenant.as('bob'), [conversationId])).get(conversationId)!
      const bob = all.find(({ actor }) => actor === 'bob')!
      expect(bob.leftAt).toBeNull()
      expect(await windowsOf(conversationId, 'bob')).toEqual([2, 5, 6, 9, 10])
    })

    it('and returning with ALL shows the whole history', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', { actor: 'bob', historyVisibility: 'SINCE_JOINED' })
      await leave(tenant, conversationId, 'bob')
      await tenant.append(conversationId, 'ann', '1')
      await join(tenant, conversationId, { actor: 'bob', historyVisibility: 'ALL' })
      expect(await textsOf(tenant, conversationId, 'bob')).toBe('1')
    })

    it('and returning at once misses no turn', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', { actor: 'bob', historyVisibility: 'SINCE_JOINED' })
      await tenant.append(conversationId, 'ann', '1')
      await leave(tenant, conversationId, 'bob')
      await join(tenant, conversationId, { actor: 'bob', historyVisibility: 'SINCE_JOINED' })
      await tenant.append(conversationId, 'ann', '2')
      expect(await textsOf(tenant, conversationId, 'bob')).toBe('12')
    })
  })

  describe('a read mark', () => {
    it('moves only forward, and notifies the subscribers of the conversation', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      for (const text of ['1', '2', '3']) await tenant.append(conversationId, 'ann', text)
      const events = await readEventsOf(world.deps, tenant.as('ann'), { conversationId })
      expect((await read(tenant, conversationId, 'bob', 4)).lastReadSeq).toBe(4)
      for (const seq of [3, 4, 0]) expect((await read(tenant, conversationId, 'bob', seq)).lastReadSeq).toBe(4)
      expect((await read(tenant, conversationId, 'bob', 5)).lastReadSeq).toBe(5)
      const received = [(await events.next()).value, (await events.next()).value]
      expect(received).toMatchObject([
        { type: 'ParticipantRead', seq: null, participant: { actor: 'bob' } },
        { type: 'ParticipantRead', participant: { actor: 'bob', lastReadSeq: 5 } },
      ])
      await events.return!()
      expect(await tenant.lastSeq(conversationId)).toBe(5)
    })

    it('set by concurrent calls ends at the highest seq, and each call returns at least its own seq', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      for (let n = 0; n < 18; n++) await tenant.append(conversationId, 'ann', `${n}`)
      const seqs = Array.from({ length: 20 }, (_, n) => ((n * 7) % 20) + 1)
      const marks = await Promise.all(seqs.map((seq) => read(tenant, conversationId, 'bob', seq)))
      for (const [index, seq] of seqs.entries()) expect(marks[index]!.lastReadSeq).toBeGreaterThanOrEqual(seq)
      expect(
        (await getParticipants(world.deps, tenant.as('x'), [conversationId])).get(conversationId)![1]!.lastReadSeq,
      ).toBe(20)
    })

    it('must be within the journal, and can be set for participants only', async () => {
      const [tenant, other] = [world.tenant(), world.tenant()]
      const conversationId = await tenant.newConversation('ann', 'gone')
      await leave(tenant, conversationId, 'gone')
      await expect(read(tenant, conversationId, 'ann', 4)).rejects.toThrow(
        'seq: is 4, but the newest entry of the conversation is 3',
      )
      await expect(read(tenant, conversationId, 'ann', 4)).rejects.toThrow(InvalidInput)
      for (const seq of [-1, 1.5, 2 ** 31])
        await expect(read(tenant, conversationId, 'ann', seq)).rejects.toThrow(InvalidInput)
      await expect(read(tenant, conversationId, 'gone', 1)).rejects.toThrow(NotAllowed)
      await expect(read(tenant, conversationId, 'stranger', 1)).rejects.toThrow('"stranger" is not in the conversation')
      await expect(read(other, conversationId, 'ann', 1)).rejects.toThrow(NotFound)
      await expect(read(tenant, newId('conversation'), 'ann', 1)).rejects.toThrow(NotFound)
      expect((await read(tenant, conversationId, 'ann', 3)).lastReadSeq).toBe(3)
    })
  })

  describe('the unread count', () => {
    it(`is at most ${MAX_UNREAD}`, async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      const turns = Array.from({ length: MAX_UNREAD }, () => ({ role: 'USER' as const, content: 'hello' }))
      await appendTurns(world.deps, tenant.as('ann'), { conversationId, turns })
      expect(await unread(tenant, conversationId, 'bob')).toBe(MAX_UNREAD)
      await tenant.append(conversationId, 'ann', 'one more')
      expect(await unread(tenant, conversationId, 'bob')).toBe(MAX_UNREAD)
    })

    it('includes a turn that was opened before the read mark and committed after it, and counts it once even if it is edited', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
      const open = (audience?: string[]) =>
        openTurn(world.deps, tenant.as('ann'), {
          conversationId,
          writerToken: WRITER,
          turn: { role: 'ASSISTANT', audience },
        })
      const streaming = [await open(), await open(), await open(['eve'])].map(({ turn }) => turn)
      await tenant.append(conversationId, 'ann', 'after them')
      const counts = async () => [
        await unread(tenant, conversationId, 'bob'),
        await unread(tenant, conversationId, 'ann'),
      ]
      const readAll = async () => read(tenant, conversationId, 'bob', (await tenant.lastSeq(conversationId))!)
      await readAll()
      expect(await counts()).toEqual([0, 0])
      for (const { id: turnId } of streaming) {
        await appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId, text: 'slow' })
      }
      const [first, second, forEve] = streaming.map(({ id: turnId }) => ({ writerToken: WRITER, turnId }))
      await commitTurn(world.deps, tenant.as('ann'), first!)
      await abortTurn(world.deps, tenant.as('ann'), { ...second!, reason: 'no more' })
      await commitTurn(world.deps, tenant.as('ann'), forEve!)
      expect(await counts()).toEqual([1, 0])
      await supersedeTurn(world.deps, tenant.as('ann'), {
        turnId: first!.turnId,
        turn: { role: 'ASSISTANT', content: 'edited' },
      })
      expect(await counts()).toEqual([1, 0])
      await readAll()
      expect(await counts()).toEqual([0, 0])
    })

    it('is read for more participants than fit into one statement', async () => {
      const tenant = world.tenant()
      const actors = Array.from({ length: 250 }, (_, n) => `member ${n}`)
      const conversationId = await tenant.newConversation('ann', ...actors)
      await tenant.append(conversationId, 'ann', 'hello')
      const participants = ['ann', ...actors, 'stranger'].map((actor) => ({ conversationId, actor }))
      const counts = await getUnreadCounts(world.deps, tenant.as('ann'), participants)
      expect(counts).toEqual([0, ...actors.map(() => 1), 0])
    })

    it('counts the turns of other actors after the read mark', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      await tenant.append(conversationId, 'ann', '1')
      await tenant.append(conversationId, 'bob', '2')
      await tenant.append(conversationId, 'ann', '3')
      expect([await unread(tenant, conversationId, 'ann'), await unread(tenant, conversationId, 'bob')]).toEqual([1, 2])
      await read(tenant, conversationId, 'bob', 3)
      expect(await unread(tenant, conversationId, 'bob')).toBe(1)
      await read(tenant, conversationId, 'bob', 5)
      expect(await unread(tenant, conversationId, 'bob')).toBe(0)
      expect(await unread(tenant, conversationId, 'stranger')).toBe(0)
    })

    it('excludes streaming and aborted turns, and counts an edited turn once, at its original position', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob')
      const { id } = await tenant.append(conversationId, 'ann', '1')
      await read(tenant, conversationId, 'bob', 3)
      const turn = { role: 'ASSISTANT' as const }
      const [committed, aborted] = [
        (await openTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, conversationId, turn })).turn,
        (await openTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, conversationId, turn })).turn,
      ]
      expect(await unread(tenant, conversationId, 'bob')).toBe(0)
      await appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId: committed.id, text: 'a' })
      await commitTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId: committed.id })
      await abortTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId: aborted.id })
      expect(await unread(tenant, conversationId, 'bob')).toBe(1)
      for (const turnId of [id, committed.id]) {
        await supersedeTurn(world.deps, tenant.as('ann'), { turnId, turn: { role: 'USER', content: 'edited' } })
      }
      expect(await unread(tenant, conversationId, 'bob')).toBe(1)
    })

    it('counts only turns that both the participant and the viewer can see', async () => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann', 'bob', 'eve')
      await tenant.append(conversationId, 'ann', 'to all')
      await tenant.append(conversationId, 'ann', 'psst', { audience: ['bob'] })
      expect(await unread(tenant, conversationId, 'bob')).toBe(2)
      expect(await unread(tenant, conversationId, 'bob', 'ann')).toBe(2)
      expect(await unread(tenant, conversationId, 'bob', 'eve')).toBe(1)
      expect(await unread(tenant, conversationId, 'eve', 'bob')).toBe(1)
      await join(tenant, conversationId, { actor: 'late', historyVisibility: 'SINCE_JOINED' })
      expect(await unread(tenant, conversationId, 'late')).toBe(0)
      expect(await unread(tenant, conversationId, 'bob', 'late')).toBe(0)
    })

    it('is computed for many participants at once, in their order', async () => {
      const tenant = world.tenant()
      const conversationIds = [
        await tenant.newConversation('ann', 'bob'),
        await tenant.newConversation('ann'),
        await tenant.newConversation('ann', 'bob'),
      ]
      await tenant.append(conversationIds[0]!, 'ann', '1')
      await tenant.append(conversationIds[2]!, 'bob', '1')
      const requests = [
        [2, 'ann'],
        [0, 'bob'],
        [1, 'bob'],
        [0, 'ann'],
        [2, 'ann'],
      ] as const
      expect(
        await getUnreadCounts(
          world.deps,
          tenant.as('ann'),
          requests.map(([index, actor]) => ({ conversationId: conversationIds[index]!, actor })),
        ),
      ).toEqual([1, 1, 0, 0, 1])
    })
  })

  it.each<[string, AddParticipantInput['participant'], RegExp]>([
    ['an empty actor', { actor: '' }, /^participant\.actor: must not be empty/],
    ['U+0000 in a display name', { actor: 'a', displayName: '\0' }, /^participant\.displayName: /],
    ['a display name of 201 characters', { actor: 'a', displayName: 'x'.repeat(201) }, /at most 200/],
    ['an unknown kind', { actor: 'a', kind: 'CAT' as never }, /^participant\.kind: /],
    [
      'an unknown history visibility',
      { actor: 'a', historyVisibility: 'SOME' as never },
      /^participant\.historyVisibility: /,
    ],
  ])('%s is rejected', async (_, participant, message) => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation()
    await expect(join(tenant, conversationId, participant)).rejects.toThrow(message)
    await expect(join(tenant, 'conv_x', { actor: 'a' })).rejects.toThrow(
      'conversationId: is not the id of a conversation',
    )
    await expect(join(other, conversationId, { actor: 'a' })).rejects.toThrow(NotFound)
    await expect(leave(other, conversationId, 'a')).rejects.toThrow(NotFound)
    expect(await tenant.lastSeq(conversationId)).toBe(0)
  })
})
