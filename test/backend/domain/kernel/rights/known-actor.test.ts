// The actors for whom a principal may act.

import { describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { isRemembered, requireKnownActor } from '../../../../../src/domain/kernel/rights/known-actor.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { UnknownActor } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'

describe.each(backends)('a known actor on $name', (backend) => {
  const world = useWorld(backend)

  it('owns a conversation of the tenant, or is or was a participant of one', async () => {
    const tenant = world.tenant()
    const known = (actor: string, of = tenant) => requireKnownActor(world.deps, of.as(actor))
    await expect(known('ann')).rejects.toThrow(new UnknownActor('ann'))
    await createConversation(world.deps, tenant.as('ann'), { visibility: 'OPEN' })
    await known('ann')
    const conversationId = await tenant.newConversation('bob', 'cy')
    await removeParticipant(world.deps, tenant.as('cy'), { conversationId, actor: 'cy' })
    await known('bob')
    await known('cy')
    await tenant.append(conversationId, 'dan', 'I join.')
    await known('dan')
    for (const actor of ['Bob', 'bo', 'bob ', 'eve']) await expect(known(actor)).rejects.toThrow(UnknownActor)
    await expect(known('bob', world.tenant())).rejects.toThrow(UnknownActor)
  })

  it('is remembered, so that the next operation needs no read, unlike an unknown actor', async () => {
    const tenant = world.tenant()
    expect(isRemembered(world.deps, tenant.as('ann'))).toBe(false)
    await expect(requireKnownActor(world.deps, tenant.as('ann'))).rejects.toThrow(UnknownActor)
    expect(isRemembered(world.deps, tenant.as('ann'))).toBe(false)
    await createConversation(world.deps, tenant.as('ann'), {})
    await requireKnownActor(world.deps, tenant.as('ann'))
    expect(isRemembered(world.deps, tenant.as('ann'))).toBe(true)
    expect(isRemembered(world.deps, world.tenant().as('ann'))).toBe(false)
  })
})
