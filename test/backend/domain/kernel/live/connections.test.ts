// The presence of an actor ends with its last connection, unless the actor connects again at once.

import { describe, expect, it } from 'vitest'
import { createConnections, GRACE_MS } from '../../../../../src/domain/kernel/live/connections.ts'
import { getPresence, setPresence } from '../../../../../src/domain/conversation/presence.ts'
import { backends } from '../../../../support/backend.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { read } from '../../../../support/reading.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

describe.each(backends)('connections on $name', (backend) => {
  const clock = fakeClock()
  const world = useWorld(backend, {}, { clock })

  const sets = (tenant: Tenant, conversationId: string, actor: string) =>
    setPresence(world.deps, tenant.as(actor), { conversationId, state: 'TYPING' }, null)
  const stateOf = async (conversationId: string, actor: string) =>
    (await getPresence(world.deps, [{ conversationId, actor }]))[0]
  const watch = (tenant: Tenant, conversationId: string) =>
    read(world.deps, tenant.as('watcher'), { conversationId, types: ['PresenceChanged'] })

  it('end the presence once all of them have ended, and the actor does not connect again', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob', 'watcher')
    const live = await watch(tenant, conversationId)
    const { connections } = world.deps
    for (const actor of ['ada', 'bob']) await sets(tenant, conversationId, actor)
    const first = connections.open(tenant.as('ada'))
    first()
    first()
    const second = connections.open(tenant.as('ada'))
    const ofBob = connections.open(tenant.as('bob'))
    ofBob()
    await clock.advance(GRACE_MS)
    const isOffline = (name: string) => (event: (typeof live.events)[number]) =>
      event.type === 'PresenceChanged' && event.participant.actor === name && event.state === 'OFFLINE'
    await live.until('bob to leave', ({ events }) => events.some(isOffline('bob')))
    expect(await stateOf(conversationId, 'ada')).toBe('TYPING')
    second()
    await clock.advance(GRACE_MS - 1)
    expect(await stateOf(conversationId, 'ada')).toBe('TYPING')
    await clock.advance(1)
    await live.until('ada to leave', ({ events }) => events.some(isOffline('ada')))
    expect(live.events.filter(isOffline('ada'))).toHaveLength(1)
    await live.stop()
  })

  it('end the presence in every conversation of the tenant, and not in another tenant', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const ids = [await tenant.newConversation('ada', 'watcher'), await tenant.newConversation('ada', 'watcher')]
    const foreign = await other.newConversation('ada')
    const readings = await Promise.all(ids.map((id) => watch(tenant, id)))
    for (const id of ids) await sets(tenant, id, 'ada')
    await sets(other, foreign, 'ada')
    world.deps.connections.open(tenant.as('ada'))()
    await clock.advance(GRACE_MS)
    for (const live of readings) {
      await live.until('the end of the presence', ({ events }) => events.length === 2)
      expect(live.events).toMatchObject([{ state: 'TYPING' }, { state: 'OFFLINE' }])
      await live.stop()
    }
    expect(await stateOf(foreign, 'ada')).toBe('TYPING')
  })

  it('end the presence at once when the process stops', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob')
    for (const actor of ['ada', 'bob']) await sets(tenant, conversationId, actor)
    const connections = createConnections(world.deps)
    connections.open(tenant.as('ada'))()
    connections.open(tenant.as('bob'))
    await connections.close()
    expect(await stateOf(conversationId, 'ada')).toBe('OFFLINE')
    expect(await stateOf(conversationId, 'bob')).toBe('TYPING')
  })
})
