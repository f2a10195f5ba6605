// Conversations: created once per key, read and updated.

import { describe, expect, it } from 'vitest'
import {
  createConversation,
  getConversationByKey,
  getConversations,
  updateConversation,
  type CreateConversationInput,
} from '../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../src/domain/trust/erasure/delete-conversation.ts'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { getParticipants } from '../../../../src/domain/conversation/participant/participant.ts'
import { InvalidInput, NotFound } from '../../../../src/errors.ts'
import { readJournal } from '../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'

describe.each(backends)('a conversation on $name', (backend) => {
  const world = useWorld(backend)
  const create = (tenant: Tenant, input: CreateConversationInput = {}, actor = 'ann') =>
    createConversation(world.deps, tenant.as(actor), input).then(({ conversation }) => conversation)
  const kindsOf = async (tenant: Tenant, conversation: string) =>
    (await readJournal(world.deps.pool, tenant.name, conversation, { after: 0, limit: 100 })).map(({ kind, actor }) => [
      kind,
      actor,
    ])

  describe('is created', () => {
    it('empty, by an owner who need not participate', async () => {
      const tenant = world.tenant()
      const conversation = await create(tenant)
      expect(conversation).toMatchObject({
        tenant: tenant.name,
        owner: 'ann',
        key: null,
        title: null,
        agentName: null,
        systemPrompt: null,
        metadata: {},
        lastSeq: 0,
        counts: { turnCount: 0, tokenCount: 0 },
      })
      expect(conversation.updatedAt.getTime()).toBeGreaterThanOrEqual(conversation.createdAt.getTime())
      expect((await getParticipants(world.deps, tenant.as('ann'), [conversation.id])).get(conversation.id)).toEqual([])
    })

    it('with the configured default visibility, also by concurrent calls with the same key', async () => {
      const { deps } = world
      const tenant = world.tenant()
      expect(await create(tenant)).toMatchObject({ visibility: 'OPEN' })
      const byDefault = { ...deps, conversationVisibility: 'MEMBERS' as const }
      const created = await Promise.all(
        Array.from({ length: 5 }, () =>
          createConversation(byDefault, tenant.as('ann'), { key: 'k' }).then(({ conversation }) => conversation),
        ),
      )
      expect(new Set(created.map(({ id }) => id)).size).toBe(1)
      expect(created[0]).toMatchObject({ visibility: 'MEMBERS' })
      // The creator is a participant, so the turn has seq 2.
      expect(await tenant.append(created[0]!.id, 'ann', 'hello')).toMatchObject({ seq: 2 })
    })

    it('with all given fields, and with one journal entry for each participant', async () => {
      const tenant = world.tenant()
      const given = {
        key: 'k',
        owner: 'somebody else',
        agentName: 'helper',
        title: 'Ünïcödé 🎉',
        systemPrompt: 'Be kind.',
        metadata: { a: { b: [1, null, 'c'] } },
      }
      const conversation = await create(tenant, {
        ...given,
        participants: [
          { actor: 'ann', kind: 'AGENT', displayName: 'Ann' },
          { actor: 'bob', historyVisibility: 'SINCE_JOINED' },
          { actor: 'cyd' },
        ],
      })
      expect(conversation).toMatchObject({ ...given, lastSeq: 3 })
      const participants = (await getParticipants(world.deps, tenant.as('ann'), [conversation.id])).get(
        conversation.id,
      )!
      expect(participants).toMatchObject([
        { actor: 'ann', kind: 'AGENT', displayName: 'Ann', historyVisibility: 'ALL', leftAt: null, lastReadSeq: 0 },
        { actor: 'bob', kind: 'HUMAN', displayName: null, historyVisibility: 'SINCE_JOINED' },
        { actor: 'cyd', historyVisibility: 'ALL' },
      ])
      expect(await kindsOf(tenant, conversation.id)).toEqual([
        ['JOINED', 'ann'],
        ['JOINED', 'bob'],
        ['JOINED', 'cyd'],
      ])
    })

    it.each<[string, CreateConversationInput, RegExp]>([
      ['an empty key', { key: '' }, /^key: must not be empty/],
      ['a key with U+0000', { key: 'a\0' }, /^key: .*U\+0000/],
      ['a key of 201 characters', { key: 'x'.repeat(201) }, /^key: must be at most 200/],
      ['a title of 1,001 characters', { title: 'x'.repeat(1001) }, /^title: must be at most 1000/],
      ['an unpaired surrogate in the prompt', { systemPrompt: '\ud83d' }, /^systemPrompt: .*surrogate/],
      ['a prompt of 65,537 characters', { systemPrompt: 'x'.repeat(65_537) }, /^systemPrompt: must be at most 65536/],
      ['metadata that is not an object', { metadata: [] as never }, /^metadata: must be a JSON object/],
      [
        'a participant named twice',
        { participants: [{ actor: 'a' }, { actor: 'a' }] },
        /^participants: must name each actor only once/,
      ],
      ['a nameless participant', { participants: [{ actor: '' }] }, /^participants\.0\.actor/],
      ['an unknown kind', { participants: [{ actor: 'a', kind: 'CAT' as never }] }, /^participants\.0\.kind/],
      ['1,001 participants', { participants: Array.from({ length: 1001 }, (_, i) => ({ actor: `a${i}` })) }, /1000/],
    ])('but not with %s', async (_, input, message) => {
      const tenant = world.tenant()
      const error = await create(tenant, { ...input }).then(
        () => null,
        (reason) => reason,
      )
      expect(error).toBeInstanceOf(InvalidInput)
      expect(error.message).toMatch(message)
    })
  })

  describe('with a key', () => {
    it('is created by the first call; later calls return it unchanged', async () => {
      const tenant = world.tenant()
      const first = await create(tenant, { key: 'k', title: 'first', participants: [{ actor: 'ann' }] })
      const again = await create(tenant, { key: 'k', title: 'second', participants: [{ actor: 'bob' }] }, 'bob')
      expect(again).toMatchObject({ id: first.id, title: 'first', owner: 'ann', lastSeq: 1 })
      expect(await kindsOf(tenant, first.id)).toEqual([['JOINED', 'ann']])
    })

    it('is created once by concurrent calls', async () => {
      const tenant = world.tenant()
      const created = await Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          create(tenant, { key: 'k', participants: [{ actor: 'ann' }, { actor: `a${n}` }] }, `a${n}`),
        ),
      )
      expect(new Set(created.map(({ id }) => id)).size).toBe(1)
      expect(new Set(created.map(({ owner }) => owner)).size).toBe(1)
      expect(await kindsOf(tenant, created[0]!.id)).toEqual([
        ['JOINED', 'ann'],
        ['JOINED', created[0]!.owner],
      ])
    })

    it('belongs to one tenant', async () => {
      const [tenant, other] = [world.tenant(), world.tenant()]
      const [mine, theirs] = [await create(tenant, { key: 'k' }), await create(other, { key: 'k' })]
      expect(mine.id).not.toBe(theirs.id)
      expect((await getConversationByKey(world.deps, tenant.as('x'), 'k'))!.id).toBe(mine.id)
      expect((await getConversationByKey(world.deps, other.as('x'), 'k'))!.id).toBe(theirs.id)
    })

    it('is not found with other keys or invalid ones', async () => {
      const tenant = world.tenant()
      await create(tenant, { key: 'k' })
      for (const key of ['K', 'k ', '', '%', 'x'.repeat(10_000), 'k\0', '\ud83d']) {
        // Null or a validation error, never a database error.
        const found = await getConversationByKey(world.deps, tenant.as('x'), key).catch((error) => error)
        expect(found).toSatisfy((answer) => answer === null || answer instanceof InvalidInput)
      }
    })

    it('can be created again after it was deleted', async () => {
      const tenant = world.tenant()
      const first = await create(tenant, { key: 'k' })
      await deleteConversation(world.deps, tenant.as('ann'), first.id)
      expect((await create(tenant, { key: 'k' })).id).not.toBe(first.id)
    })
  })

  it('is found by its id in its tenant only', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const [conversation, second] = [await create(tenant), await create(tenant)]
    const ids = [
      conversation.id,
      'nonsense',
      newId('turn'),
      newId('conversation'),
      second.id,
      conversation.id,
      'conv_\0',
    ]
    const found = await getConversations(world.deps, tenant.as('x'), ids)
    expect([...found.keys()].sort()).toEqual([conversation.id, second.id].sort())
    expect((await getConversations(world.deps, other.as('ann'), ids)).size).toBe(0)
  })

  describe('is updated', () => {
    const given = { title: 't', systemPrompt: 's', metadata: { a: 1 } }

    it.each([
      [{ title: 'new' }, { ...given, title: 'new' }],
      [{ title: null }, { ...given, title: null }],
      [
        { systemPrompt: null, metadata: null },
        { title: 't', systemPrompt: null, metadata: {} },
      ],
      [{ metadata: { b: 2 } }, { ...given, metadata: { b: 2 } }],
      [{}, given],
    ])('by %j to %j: null clears a field, and an omitted field does not change', async (change, after) => {
      const tenant = world.tenant()
      const { id, updatedAt } = await create(tenant, given)
      const changed = await updateConversation(world.deps, tenant.as('bob'), { conversationId: id, ...change })
      expect(changed).toMatchObject({ ...after, lastSeq: 1, owner: 'ann' })
      expect(changed.updatedAt.getTime()).toBeGreaterThanOrEqual(updatedAt.getTime())
      expect(await kindsOf(tenant, id)).toEqual([['UPDATED', null]])
    })

    it('to another owner, agent and metadata, and each update increments its version', async () => {
      const tenant = world.tenant()
      const { id: conversationId, version } = await create(tenant, { metadata: { a: 1, b: { c: 2, d: 3 } } })
      expect(version).toBe(1)
      const update = (change: object) => updateConversation(world.deps, tenant.as('ann'), { conversationId, ...change })
      expect(await update({ owner: 'bob', agentName: 'scout' })).toMatchObject({
        owner: 'bob',
        agentName: 'scout',
        version: 2,
      })
      const patched = await update({ metadataPatch: { a: null, b: { c: 5 }, e: [1] }, expectedVersion: 2 })
      expect(patched).toMatchObject({ metadata: { b: { c: 5, d: 3 }, e: [1] }, version: 3 })
      expect(patched.metadata).not.toHaveProperty('a')
      await tenant.append(conversationId, 'ann', 'A turn changes no field of the conversation.')
      await expect(update({ title: 'late', expectedVersion: 2 })).rejects.toThrow(/has version 3/)
      expect(await update({ title: 'in time', agentName: null, expectedVersion: 3 })).toMatchObject({
        title: 'in time',
        agentName: null,
        owner: 'bob',
        version: 4,
      })
      const big = 'x'.repeat(40_000)
      await update({ metadata: { big } })
      await expect(update({ metadataPatch: { more: big } })).rejects.toThrow(
        /metadataPatch: must be at most 65536 bytes/,
      )
      await expect(update({ metadataPatch: {}, metadata: {} })).rejects.toThrow(/metadataPatch: must not be given/)
      await expect(update({ owner: null })).rejects.toThrow(/owner: must not be null/)
    })

    it('by only one of three callers that expect the same version', async () => {
      const tenant = world.tenant()
      const { id: conversationId } = await create(tenant)
      const results = await Promise.allSettled(
        ['one', 'two', 'three'].map((title) =>
          updateConversation(world.deps, tenant.as('ann'), { conversationId, title, expectedVersion: 1 }),
        ),
      )
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    })

    it('but not if it does not exist, and not with invalid values', async () => {
      const [tenant, other] = [world.tenant(), world.tenant()]
      const { id } = await create(tenant, given)
      await expect(updateConversation(world.deps, other.as('ann'), { conversationId: id, title: 'x' })).rejects.toThrow(
        NotFound,
      )
      await expect(
        updateConversation(world.deps, tenant.as('ann'), { conversationId: newId('conversation') }),
      ).rejects.toThrow(NotFound)
      await expect(updateConversation(world.deps, tenant.as('ann'), { conversationId: 'x' })).rejects.toThrow(
        InvalidInput,
      )
      await expect(
        updateConversation(world.deps, tenant.as('ann'), { conversationId: id, title: '\0' }),
      ).rejects.toThrow(InvalidInput)
      expect((await getConversations(world.deps, tenant.as('ann'), [id])).get(id)).toMatchObject({
        ...given,
        lastSeq: 0,
      })
    })
  })
})
