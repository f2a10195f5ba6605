// The presence of authors: writing makes them ONLINE, without a write or a message for each delta.

import { describe, expect, it } from 'vitest'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { getPresence, setPresence } from '../../../../../src/domain/conversation/presence.ts'
import { conversationTopic } from '../../../../../src/domain/kernel/live/publisher.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { createWriters } from '../../../../../src/domain/kernel/live/writers.ts'
import { backends } from '../../../../support/backend.ts'
import { read } from '../../../../support/reading.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

describe.each(backends)('the author of a turn on $name', (backend) => {
  const world = useWorld(backend, {}, { presentWriters: true })

  const types = ['PresenceChanged'] as const
  const watch = (tenant: Tenant, conversationId: string) =>
    read(world.deps, tenant.as('watcher'), { conversationId, types: [...types] })
  const open = async (tenant: Tenant, conversationId: string, actor: string) => {
    const input = { conversationId, turn: { role: 'ASSISTANT' as const }, writerToken: WRITER }
    return (await openTurn(world.deps, tenant.as(actor), input)).turn
  }

  it('is ONLINE from its first turn on, with one event', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const live = await watch(tenant, conversationId)
    for (let n = 0; n < 5; n++) await tenant.append(conversationId, 'ann', `turn ${n}`)
    await live.until('the presence', ({ events }) => events.length > 0)
    await tenant.append(conversationId, 'bob', 'hello')
    await live.until('the presence of the other author', ({ events }) => events.length > 1)
    expect(live.events).toMatchObject([
      { participant: { actor: 'ann' }, state: 'ONLINE' },
      { participant: { actor: 'bob' }, state: 'ONLINE' },
    ])
    expect(await getPresence(world.deps, [{ conversationId, actor: 'ann' }])).toEqual(['ONLINE'])
    await live.stop()
  })

  it('is ONLINE while it streams, also if another actor sends the deltas', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot', 'watcher')
    const live = await watch(tenant, conversationId)
    const opened = await open(tenant, conversationId, 'bot')
    await live.until('the presence', ({ events }) => events.length > 0)
    // As after 60 s without a renewal.
    await world.deps.presence.removeActor(conversationId, tenant.as('bot'))
    const other = { ...world.deps, writers: createWriters(world.deps) }
    await appendDelta(other, tenant.as('watcher'), { turnId: opened.id, writerToken: WRITER, text: '' })
    await live.until('the presence after a heartbeat', ({ events }) => events.length > 1)
    expect(live.events).toMatchObject([
      { participant: { actor: 'bot' }, state: 'ONLINE' },
      { participant: { actor: 'bot' }, state: 'ONLINE' },
    ])
    await live.stop()
  })

  it('sets its presence once for many deltas', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot')
    const messages: string[] = []
    const stop = await world.deps.bus.subscribe(conversationTopic(conversationId), (message) => {
      const { type } = JSON.parse(message) as { type: string }
      if (type === 'presence') messages.push(type)
    })
    let calls = 0
    const presence = Object.create(world.deps.presence) as typeof world.deps.presence
    presence.set = (...given) => {
      calls += 1
      return world.deps.presence.set(...given)
    }
    const deps = { ...world.deps, presence }
    deps.writers = createWriters(deps)
    const opened = await open(tenant, conversationId, 'bot')
    for (let n = 0; n < 200; n++) {
      await appendDelta(deps, tenant.as('bot'), { turnId: opened.id, writerToken: WRITER, text: 'word ' })
    }
    await expect.poll(() => messages.length).toBe(1)
    expect(calls).toBe(1)
    await stop()
  })

  it('keeps a presence that it set itself', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('bot', 'watcher')
    const live = await watch(tenant, conversationId)
    await setPresence(world.deps, tenant.as('bot'), { conversationId, state: 'THINKING' }, null)
    await tenant.append(conversationId, 'bot', 'hello')
    await tenant.append(conversationId, 'ann', 'hello')
    await live.until('the presence of the other author', ({ events }) => events.length > 1)
    expect(live.events).toMatchObject([{ state: 'THINKING' }, { participant: { actor: 'ann' }, state: 'ONLINE' }])
    expect(await getPresence(world.deps, [{ conversationId, actor: 'bot' }])).toEqual(['THINKING'])
    await setPresence(world.deps, tenant.as('bot'), { conversationId, state: 'OFFLINE' }, null)
    expect(await getPresence(world.deps, [{ conversationId, actor: 'bot' }])).toEqual(['ONLINE'])
    await live.stop()
  })

  it('is not present because of an imported turn', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const live = await watch(tenant, conversationId)
    await tenant.append(conversationId, 'ann', 'long ago', { createdAt: new Date('2025-01-01') })
    await tenant.append(conversationId, 'bob', 'now')
    await live.until('the presence of the other author', ({ events }) => events.length > 0)
    expect(live.events).toMatchObject([{ participant: { actor: 'bob' } }])
    await live.stop()
  })
})
