// Presence: set with or without a socket, by one or two sockets at once, ended by OFFLINE, by the socket's end or by
// expiry, and always published to the conversation. In memory, and on Redis if available. The tests of expiry use the
// store in memory, because Redis has a clock of its own.

import { describe, expect, it, onTestFinished } from 'vitest'
import type { PresenceState } from '../../../../src/domain/kernel/live/publisher.ts'
import { readEventsOf } from '../../../../src/domain/turn/journal/reader.ts'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { removeParticipant } from '../../../../src/domain/conversation/participant/participant.ts'
import {
  createPresenceHolder,
  endExpiredPresence,
  getPresence,
  setPresence,
  type PresenceHolder,
} from '../../../../src/domain/conversation/presence.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { fakeClock } from '../../../support/fake-clock.ts'
import { useWorld, type Tenant, type TestWorld } from '../../../support/world.ts'

/** Lifetime of a presence that is not renewed, in ms. */
const TTL = 60_000

/** Functions that set, read and watch presence in the world. */
function presenceIn(world: TestWorld) {
  const set = (
    tenant: Tenant,
    conversationId: string,
    actor: string,
    state: PresenceState,
    by: PresenceHolder | null = null,
  ) => setPresence(world.deps, tenant.as(actor), { conversationId, state }, by)
  return {
    set,
    openSocket(): PresenceHolder {
      const presence = createPresenceHolder(world.deps)
      onTestFinished(() => presence.end())
      return presence
    },
    stateOf: async (conversationId: string, actor: string) =>
      (await getPresence(world.deps, [{ conversationId, actor }]))[0],

    /** Returns the presence events that the actor receives, as a growing list of "actor STATE". */
    async watch(tenant: Tenant, conversationId: string, actor = 'watcher'): Promise<string[]> {
      const received: string[] = []
      const events = await readEventsOf(world.deps, tenant.as(actor), { conversationId })
      const reading = (async () => {
        for await (const event of events) {
          if (event.type === 'PresenceChanged') received.push(`${event.participant.actor} ${event.state}`)
        }
      })()
      onTestFinished(async () => {
        await events.return!()
        await reading
      })
      return received
    },

    /** Waits until exactly these events have arrived: a later change of "watcher" is the next one. */
    async expectReceived(received: string[], tenant: Tenant, conversationId: string, expected: string[]) {
      await set(tenant, conversationId, 'watcher', 'AWAY')
      await expect.poll(() => received.at(-1)).toBe('watcher AWAY')
      expect(received.slice(0, -1)).toEqual(expected)
    },
  }
}

describe.each(backends)('presence on $name', (backend) => {
  const world = useWorld(backend)
  const { set, openSocket, stateOf, watch } = presenceIn(world)

  it('is OFFLINE until it is set, then the latest state', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'watcher')
    const received = await watch(tenant, conversationId)
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    const participant = await set(tenant, conversationId, 'ann', 'ONLINE')
    expect(participant).toMatchObject({ actor: 'ann', conversationId })
    await set(tenant, conversationId, 'ann', 'TYPING')
    expect(await stateOf(conversationId, 'ann')).toBe('TYPING')
    expect(await stateOf(conversationId, 'bob')).toBe('OFFLINE')
    await set(tenant, conversationId, 'ann', 'OFFLINE')
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    await expect.poll(() => received).toEqual(['ann ONLINE', 'ann TYPING', 'ann OFFLINE'])
    expect(await tenant.lastSeq(conversationId)).toBe(3)
  })

  it('is read for many participants at once, in the order requested, each in the given conversation', async () => {
    const tenant = world.tenant()
    const [conversationId, other] = [await tenant.newConversation('ann', 'bob'), await tenant.newConversation('ann')]
    await set(tenant, conversationId, 'bob', 'AWAY')
    await set(tenant, other, 'ann', 'THINKING')
    const requests = [
      [other, 'ann'],
      [conversationId, 'ann'],
      [conversationId, 'bob'],
      [other, 'bob'],
    ] as const
    expect(
      await getPresence(
        world.deps,
        requests.map(([conversationId, actor]) => ({ conversationId, actor })),
      ),
    ).toEqual(['THINKING', 'OFFLINE', 'AWAY', 'OFFLINE'])
    expect(await getPresence(world.deps, [])).toEqual([])
  })

  it('of an actor with two sockets is the newer state, and ends with the last socket', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    const [one, two] = [openSocket(), openSocket()]
    await set(tenant, conversationId, 'ann', 'ONLINE', one)
    await set(tenant, conversationId, 'ann', 'TYPING', two)
    expect(await stateOf(conversationId, 'ann')).toBe('TYPING')
    await two.end()
    expect(await stateOf(conversationId, 'ann')).toBe('ONLINE')
    await one.end()
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    await expect.poll(() => received).toEqual(['ann ONLINE', 'ann TYPING', 'ann ONLINE', 'ann OFFLINE'])
  })

  it('is the state of the other socket after one socket sets OFFLINE', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    const [one, two] = [openSocket(), openSocket()]
    await set(tenant, conversationId, 'ann', 'AWAY', one)
    await set(tenant, conversationId, 'ann', 'ONLINE', two)
    await set(tenant, conversationId, 'ann', 'OFFLINE', two)
    expect(await stateOf(conversationId, 'ann')).toBe('AWAY')
    await set(tenant, conversationId, 'ann', 'OFFLINE', one)
    await expect.poll(() => received).toEqual(['ann AWAY', 'ann ONLINE', 'ann AWAY', 'ann OFFLINE'])
  })

  it('of several actors on one socket ends for all of them with the socket', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'watcher')
    const other = await tenant.newConversation('ann')
    const received = await watch(tenant, conversationId)
    const socket = openSocket()
    await set(tenant, conversationId, 'ann', 'ONLINE', socket)
    await set(tenant, conversationId, 'bob', 'TYPING', socket)
    await set(tenant, other, 'ann', 'ONLINE', socket)
    await socket.end()
    for (const [conversation, actor] of [
      [conversationId, 'ann'],
      [conversationId, 'bob'],
      [other, 'ann'],
    ] as const) {
      expect(await stateOf(conversation, actor)).toBe('OFFLINE')
    }
    await expect.poll(() => received.toSorted()).toEqual(['ann OFFLINE', 'ann ONLINE', 'bob OFFLINE', 'bob TYPING'])
  })

  it('can be set by participants only', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('ann', 'gone')
    await removeParticipant(world.deps, tenant.as('gone'), { conversationId, actor: 'gone' })
    await expect(set(tenant, conversationId, 'stranger', 'ONLINE')).rejects.toThrow(NotAllowed)
    await expect(set(tenant, conversationId, 'gone', 'ONLINE')).rejects.toThrow('"gone" is not in the conversation')
    await expect(set(other, conversationId, 'ann', 'ONLINE')).rejects.toThrow(NotFound)
    await expect(set(tenant, newId('conversation'), 'ann', 'ONLINE')).rejects.toThrow(NotFound)
    await expect(set(tenant, 'nonsense', 'ann', 'ONLINE')).rejects.toThrow(InvalidInput)
    await expect(set(tenant, conversationId, 'ann', 'ASLEEP' as 'AWAY')).rejects.toThrow(/^state: /)
    for (const actor of ['stranger', 'gone', 'ann']) expect(await stateOf(conversationId, actor)).toBe('OFFLINE')
  })

  it('is not published to a participant who has left', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'watcher')
    const received = await watch(tenant, conversationId)
    await set(tenant, conversationId, 'ann', 'ONLINE')
    await expect.poll(() => received).toEqual(['ann ONLINE'])
    await removeParticipant(world.deps, tenant.as('watcher'), { conversationId, actor: 'watcher' })
    const remaining = await watch(tenant, conversationId, 'bob')
    await set(tenant, conversationId, 'ann', 'AWAY')
    await expect.poll(() => remaining).toEqual(['ann AWAY'])
    expect(received).toEqual(['ann ONLINE'])
  })
})

describe.each(backends)('the expiry of presence, on $name', (backend) => {
  const clock = fakeClock()
  const world = useWorld(backend, { presenceTtlMs: TTL, redisUrl: undefined }, { clock })
  const { set, openSocket, stateOf, watch, expectReceived } = presenceIn(world)

  it('of a presence that was set without a socket is published once', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    await set(tenant, conversationId, 'ann', 'ONLINE')
    expect(await endExpiredPresence(world.deps)).toBe(0)
    expect(await stateOf(conversationId, 'ann')).toBe('ONLINE')
    await clock.advance(TTL / 2)
    await set(tenant, conversationId, 'ann', 'TYPING')
    await clock.advance(TTL - 1)
    expect(await stateOf(conversationId, 'ann')).toBe('TYPING')
    await clock.advance(1)
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    // Two sweepers at once.
    await Promise.all([endExpiredPresence(world.deps), endExpiredPresence(world.deps)])
    await endExpiredPresence(world.deps)
    await expectReceived(received, tenant, conversationId, ['ann ONLINE', 'ann TYPING', 'ann OFFLINE'])
  })

  it('of a presence that was set over a socket is prevented until the socket ends', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    const socket = openSocket()
    await set(tenant, conversationId, 'ann', 'ONLINE', socket)
    await set(tenant, conversationId, 'ann', 'THINKING', socket)
    await clock.advance(TTL * 2)
    expect(await stateOf(conversationId, 'ann')).toBe('THINKING')
    await socket.end()
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    await socket.end()
    await clock.advance(TTL * 2)
    await endExpiredPresence(world.deps)
    await expectReceived(received, tenant, conversationId, ['ann ONLINE', 'ann THINKING', 'ann OFFLINE'])
  })

  it('does not follow OFFLINE: that presence is neither renewed nor published again when its socket ends', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    const socket = openSocket()
    await set(tenant, conversationId, 'ann', 'ONLINE', socket)
    await set(tenant, conversationId, 'ann', 'OFFLINE', socket)
    await clock.advance(TTL)
    await socket.end()
    await endExpiredPresence(world.deps)
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    await expectReceived(received, tenant, conversationId, ['ann ONLINE', 'ann OFFLINE'])
  })
})
