// Authorization in conversations: former participants of a MEMBERS conversation, the viewer that an open turn counts
// for, rejoining after a removal, and administrators.

import { describe, expect, it } from 'vitest'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { extractFacts } from '../../../../../src/domain/memory/fact/extract/extract.ts'
import { reconcileFacts } from '../../../../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { RIGHTS, type Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { compact, summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { updateParticipant } from '../../../../../src/domain/conversation/participant/update-participant.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { NotAllowed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { SYSTEM } from '../../../../../src/store/db/scope.ts'

describe.each(backends)('authorization on $name', (backend) => {
  const world = useWorld(backend)
  const withRights = (viewer: Viewer, rights: readonly Right[], actor = viewer.actor): Viewer => ({
    ...viewer,
    principal: {
      tenant: viewer.tenant,
      actor,
      kind: 'AGENT',
      rights: new Set(rights),
      conversations: null,
      credential: 'key:test',
      expiresAt: null,
    },
  })

  /** Creates a MEMBERS conversation with three turns, which "bob" has left. */
  async function leftByBob() {
    const tenant = world.tenant()
    const input = { visibility: 'MEMBERS' as const, participants: [{ actor: 'ada' }, { actor: 'bob' }] }
    const { id: conversationId } = (await createConversation(world.deps, tenant.as('ada'), input)).conversation
    for (const text of ['I live in Rome.', 'I like boats.', 'I own a boat.'])
      await tenant.append(conversationId, 'ada', text)
    await removeParticipant(world.deps, tenant.as('bob'), { conversationId, actor: 'bob' })
    return { tenant, conversationId, bob: tenant.as('bob') }
  }

  it.each([
    ['extractFacts', (viewer: Viewer, conversationId: string) => extractFacts(world.deps, viewer, { conversationId })],
    [
      'reconcileFacts',
      (viewer: Viewer, conversationId: string) => reconcileFacts(world.deps, viewer, { conversationId }),
    ],
    ['compact', (viewer: Viewer, conversationId: string) => compact(world.deps, viewer, { conversationId })],
    ['summarize', (viewer: Viewer, conversationId: string) => summarize(world.deps, viewer, { conversationId })],
  ])('rejects %s by a participant who has left a MEMBERS conversation', async (_, call) => {
    const { tenant, conversationId, bob } = await leftByBob()
    for (const viewer of [bob, withRights(bob, RIGHTS)]) {
      await expect(call(viewer, conversationId)).rejects.toThrow(NotAllowed)
      const pages = await pageOfTurns(world.deps, viewer, [conversationId], {})
      expect(pages.get(conversationId)!.items).toHaveLength(3)
    }
    expect(await world.deps.db.of(SYSTEM).summary.count({ where: { conversationId } })).toBe(0)
    await expect(call(tenant.as('ada'), conversationId)).resolves.toBeTruthy()
  })

  it('counts open turns for the actor of the credential, whichever actor it acts as', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot', 'ada')
    const open = (viewer: Viewer) =>
      openTurn(world.deps, viewer, { conversationId, turn: { role: 'USER' }, writerToken: WRITER })
    for (const actor of ['bot', 'ada']) await open(withRights(tenant.as(actor), RIGHTS, 'service'))
    await open(tenant.as('ada'))
    const streams = await world.deps.db
      .of(SYSTEM)
      .stream.findMany({ where: { conversationId }, select: { viewer: true } })
    expect(streams.map(({ viewer }) => viewer).toSorted()).toEqual(['ada', 'service', 'service'])
  })

  it('lets a removed actor rejoin only if another actor adds it, and never see more history than it was given', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bob')
    const owner = withRights(tenant.as('owner'), ['write'])
    const bob = withRights(tenant.as('bob'), ['write'])
    const join = (viewer: Viewer, more: object = {}) =>
      addParticipant(world.deps, viewer, { conversationId, participant: { actor: 'bob', ...more } })
    await removeParticipant(world.deps, owner, { conversationId, actor: 'bob' })
    await expect(join(bob)).rejects.toMatchObject({ right: 'manage' })
    expect(await join(owner, { historyVisibility: 'SINCE_JOINED' })).toMatchObject({ leftAt: null })
    await removeParticipant(world.deps, bob, { conversationId, actor: 'bob' })
    await expect(join(bob, { historyVisibility: 'ALL' })).rejects.toMatchObject({ right: 'manage' })
    expect(await join(bob)).toMatchObject({ historyVisibility: 'SINCE_JOINED', leftAt: null })
  })

  it('lets only the owner make administrators, who lose the role when they leave', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bob', 'cy')
    const owner = withRights(tenant.as('owner'), ['write'])
    const bob = withRights(tenant.as('bob'), ['write'])
    const rename = () => updateParticipant(world.deps, bob, { conversationId, actor: 'cy', displayName: 'Cy' })
    await expect(rename()).rejects.toThrow(NotAllowed)
    const made = await updateParticipant(world.deps, owner, { conversationId, actor: 'bob', administrator: true })
    expect(made.administrator).toBe(true)
    expect(await rename()).toMatchObject({ displayName: 'Cy' })
    await expect(
      updateParticipant(world.deps, bob, { conversationId, actor: 'cy', administrator: true }),
    ).rejects.toThrow('the owner of the conversation')
    expect(await removeParticipant(world.deps, bob, { conversationId, actor: 'bob' })).toMatchObject({
      administrator: false,
    })
    await expect(
      updateParticipant(world.deps, owner, { conversationId, actor: 'bob', administrator: true }),
    ).rejects.toThrow('who has left')
  })
})
