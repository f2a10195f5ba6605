// A change of a conversation's visibility moves its facts to another visibility set, and corrects the superseded facts
// and profiles that depend on them. A change to MEMBERS also hides the conversation from other actors, who may
// then use its key.

import { describe, expect, it } from 'vitest'
import { auditMemory } from '../../../../../src/domain/memory/fact/audit.ts'
import { getFactPage } from '../../../../../src/domain/memory/fact/fact.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { getFactSourcePages } from '../../../../../src/domain/memory/fact/source.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import {
  createConversation,
  getConversationByKey,
  updateConversation,
} from '../../../../../src/domain/conversation/conversation.ts'
import { getProfiles } from '../../../../../src/domain/memory/profile/profile.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { Conflict, NotAllowed, NotFound } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

const lives = (object: string, day = 1) => ({
  subject: 'ann',
  predicate: 'lives in',
  object,
  observedAt: new Date(Date.UTC(2026, 0, day)),
})
const likes = (object: string) => ({ ...lives(object), predicate: 'likes' })

describe.each(backends)('a change of visibility on $name', (backend) => {
  const world = useWorld(backend)

  const twoConversations = async (tenant: Tenant) =>
    [await tenant.newConversation('ann', 'bob'), await tenant.newConversation('ann', 'eve')] as const

  const record = (tenant: Tenant, conversationId: string, ...facts: ReturnType<typeof lives>[]) =>
    recordFacts(world.deps, tenant.as('ann'), { conversationId, userId: 'ann', facts })

  const change = (tenant: Tenant, id: string, visibility: 'OPEN' | 'MEMBERS') =>
    updateConversation(world.deps, tenant.as('ann'), { conversationId: id, visibility })

  /** The facts that the actor sees, as `object` or `object (superseded)`, sorted. */
  async function factsOf(tenant: Tenant, actor: string): Promise<string[]> {
    const { items } = await getFactPage(world.deps, tenant.as(actor), { filter: { includeSuperseded: true } })
    return items.map(({ object, supersededAt }) => (supersededAt ? `${object} (superseded)` : object)).sort()
  }

  it('to MEMBERS hides the facts of the conversation, but not equal facts of other conversations', async () => {
    const tenant = world.tenant()
    const [hidden, open] = await twoConversations(tenant)
    await record(tenant, hidden, likes('tea'), likes('jazz'))
    await record(tenant, open, likes('tea'), likes('chess'))
    expect(await factsOf(tenant, 'eve')).toEqual(['chess', 'jazz', 'tea'])
    expect((await auditMemory(world.deps, tenant.as('eve'))).exactDuplicatesSkipped).toBe(1)

    await change(tenant, hidden, 'MEMBERS')
    expect(await factsOf(tenant, 'eve')).toEqual(['chess', 'tea'])
    expect(await auditMemory(world.deps, tenant.as('eve'))).toMatchObject({ activeFacts: 2, exactDuplicatesSkipped: 0 })
    // Participants see both visibility sets, whose equal facts are separate.
    for (const actor of ['ann', 'bob']) expect(await factsOf(tenant, actor)).toEqual(['chess', 'jazz', 'tea', 'tea'])
    expect(await record(tenant, hidden, likes('tea'))).toMatchObject({ facts: [], exactDuplicatesSkipped: 1 })
    expect(await factsOf(tenant, 'eve')).toEqual(['chess', 'tea'])
  })

  it('keeps the times at which facts and their sources were imported', async () => {
    const tenant = world.tenant()
    const [hidden, open] = await twoConversations(tenant)
    await record(tenant, hidden, likes('tea'))
    await record(tenant, open, likes('tea'))
    const imports = async () => {
      const { items } = await getFactPage(world.deps, tenant.as('ann'), {})
      const ids = items.map(({ id }) => id)
      const pages = await getFactSourcePages(world.deps, tenant.as('ann'), ids, {})
      return [...items, ...[...pages.values()].flatMap((page) => page.items)].map(({ importedAt }) => importedAt)
    }
    for (const visibility of ['MEMBERS', 'OPEN'] as const) {
      await change(tenant, hidden, visibility)
      for (const importedAt of await imports()) expect(importedAt).toBeInstanceOf(Date)
    }
  })

  it('to MEMBERS reactivates facts that were superseded by facts of the other visibility set', async () => {
    const tenant = world.tenant()
    const [hidden, open] = await twoConversations(tenant)
    await record(tenant, open, lives('Oslo', 1))
    await record(tenant, hidden, lives('Moscow', 2))
    await reconcileFacts(world.deps, tenant.as('ann'), { userId: 'ann' })
    expect(await factsOf(tenant, 'eve')).toEqual(['Moscow', 'Oslo (superseded)'])
    await change(tenant, hidden, 'MEMBERS')
    expect(await factsOf(tenant, 'eve')).toEqual(['Oslo'])
    expect(await factsOf(tenant, 'bob')).toEqual(['Moscow', 'Oslo'])
    await reconcileFacts(world.deps, tenant.as('ann'), { userId: 'ann' })
    expect(await factsOf(tenant, 'eve')).toEqual(['Oslo'])

    const other = world.tenant()
    const [private_, public_] = await twoConversations(other)
    await record(other, private_, lives('Oslo', 1))
    await record(other, public_, lives('Rome', 2))
    await reconcileFacts(world.deps, other.as('ann'), { userId: 'ann' })
    await change(other, private_, 'MEMBERS')
    expect(await factsOf(other, 'bob')).toEqual(['Oslo', 'Rome'])
    expect(await factsOf(other, 'eve')).toEqual(['Rome'])
  })

  it('to MEMBERS deletes profiles that used facts of the conversation, and later profiles omit these facts', async () => {
    const tenant = world.tenant()
    const [hidden, open] = await twoConversations(tenant)
    await record(tenant, hidden, likes('jazz'))
    await record(tenant, open, likes('tea'))
    const refresh = () => refreshUserProfile(world.deps, tenant.as('eve'), { userId: 'ann' })
    expect((await refresh()).content).toContain('jazz')
    await change(tenant, hidden, 'MEMBERS')
    expect(await getProfiles(world.deps, tenant.as('eve'), ['ann'])).toEqual(new Map())
    const { content } = await refresh()
    expect(content).toContain('tea')
    expect(content).not.toContain('jazz')
  })

  it('to OPEN merges the facts of the conversation with equal facts of other conversations', async () => {
    const tenant = world.tenant()
    const [hidden, open] = await twoConversations(tenant)
    await change(tenant, hidden, 'MEMBERS')
    await record(tenant, hidden, likes('tea'), likes('jazz'))
    await record(tenant, open, likes('tea'))
    await change(tenant, hidden, 'OPEN')
    expect(await factsOf(tenant, 'eve')).toEqual(['jazz', 'tea', 'tea (superseded)'])
    expect(await record(tenant, hidden, likes('tea'), likes('jazz'))).toMatchObject({ exactDuplicatesSkipped: 2 })
    await change(tenant, hidden, 'MEMBERS')
    expect(await factsOf(tenant, 'eve')).toEqual(['tea'])
    expect(await factsOf(tenant, 'bob')).toEqual(['jazz', 'tea', 'tea', 'tea (superseded)'])
  })

  it('is allowed for current participants only, and takes effect at once', async () => {
    const tenant = world.tenant()
    const [id] = await twoConversations(tenant)
    const update = (actor: string, visibility: 'OPEN' | 'MEMBERS') =>
      updateConversation(world.deps, tenant.as(actor), { conversationId: id, visibility })
    await expect(update('eve', 'MEMBERS')).rejects.toThrow(NotAllowed)
    expect(await update('bob', 'MEMBERS')).toMatchObject({ visibility: 'MEMBERS' })
    await expect(update('eve', 'OPEN')).rejects.toThrow(NotFound)
    await expect(tenant.append(id, 'eve', 'hello')).rejects.toThrow(NotFound)
    expect(await update('ann', 'OPEN')).toMatchObject({ visibility: 'OPEN' })
    expect(await tenant.append(id, 'eve', 'hello')).toMatchObject({ actor: 'eve' })
    // Writers check the copy in the journal, which is the row that they lock.
    const { conversation: created } = await createConversation(world.deps, tenant.as('ann'), { visibility: 'MEMBERS' })
    await update('ann', 'MEMBERS')
    for (const each of [id, created.id]) {
      const found = await world.deps.db
        .of(SYSTEM)
        .conversation.findUnique({ where: { id: each }, include: { journal: true } })
      expect([found?.visibility, found?.journal?.visibility]).toEqual(['MEMBERS', 'MEMBERS'])
    }
  })

  it('to MEMBERS lets other actors use the key for a conversation of their own', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const create = (actor: string, visibility: 'OPEN' | 'MEMBERS' = 'OPEN') =>
      createConversation(deps, tenant.as(actor), {
        key: 'k',
        visibility,
        participants: [{ actor: 'bob' }, { actor }],
      }).then(({ conversation }) => conversation)
    const first = await create('ann')
    await change(tenant, first.id, 'MEMBERS')
    const second = await create('eve')
    expect(second.id).not.toBe(first.id)
    // Bob, a participant of both, finds the older conversation. Eve finds the conversation that she created.
    expect((await getConversationByKey(deps, tenant.as('bob'), 'k'))?.id).toBe(first.id)
    expect((await create('eve', 'MEMBERS')).id).toBe(second.id)
    await expect(change(tenant, first.id, 'OPEN')).rejects.toThrow(Conflict)
  })
})
