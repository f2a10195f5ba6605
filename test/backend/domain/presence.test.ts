// Presence: set with or without a socket, by one or two sockets at once, ended by OFFLINE, by the socket's end or by
// expiry, and always published to the conversation. In memory, and on Redis if available.

import { afterEach, describe, expect, it } from 'vitest'
import type { PresenceState } from '../../../src/domain/presence-state.ts'
import { readEventsOf } from '../../../src/domain/event/reader.ts'
import { newId } from '../../../src/domain/id.ts'
import { removeParticipant } from '../../../src/domain/participant.ts'
import {
  createPresenceHolder,
  endExpiredPresence,
  getPresence,
  setPresence,
  type PresenceHolder,
} from '../../../src/domain/presence.ts'
import { InvalidInput, NotAllowed, NotFound } from '../../../src/errors.ts'
import { backends } from '../../support/backend.ts'
import { useWorld, type Tenant } from '../../support/world.ts'
import { isLong } from '../../support/long.ts'

/** Lifetime of a presence that is not renewed, in ms. */
const TTL = 900
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe.each(backends)('presence on $name', (backend) => {
  const world = useWorld(backend, { presenceTtlMs: TTL })
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanups.splice(0)) await step()
  })

  const openSocket = (): PresenceHolder => {
    const presence = createPresenceHolder(world.deps)
    cleanups.push(() => presence.end())
    return presence
  }
  const set = (
    tenant: Tenant,
    conversationId: string,
    actor: string,
    state: PresenceState,
    by: PresenceHolder | null = null,
  ) => setPresence(world.deps, tenant.as(actor), { conversationId, state }, by)
  const stateOf = async (conversationId: string, actor: string) =>
    (await getPresence(world.deps, [{ conversationId, actor }]))[0]

  /** Returns the presence events that "watcher" receives, as a growing list of "actor STATE". */
  async function watch(tenant: Tenant, conversationId: string): Promise<string[]> {
    const received: string[] = []
    const events = await readEventsOf(world.deps, tenant.as('watcher'), { conversationId })
    const reading = (async () => {
      for await (const event of events) {
        if (event.type === 'PresenceChanged') received.push(`${event.participant.actor} ${event.state}`)
      }
    })()
    cleanups.push(async () => {
      await events.return!()
      await reading
    })
    return received
  }

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

  it('set without a socket expires, and the sweeper publishes the expiry once', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    await set(tenant, conversationId, 'ann', 'ONLINE')
    // Presence of other tests may expire here, too, so the returned count is not checked.
    await endExpiredPresence(world.deps)
    expect(await stateOf(conversationId, 'ann')).toBe('ONLINE')
    await wait(TTL / 2)
    await set(tenant, conversationId, 'ann', 'TYPING')
    await wait(TTL / 2 + 100)
    expect(await stateOf(conversationId, 'ann')).toBe('TYPING')
    await wait(TTL / 2)
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    // Two sweepers at once. On a shared Redis, the sweeper of another process may have been first.
    await Promise.all([endExpiredPresence(world.deps), endExpiredPresence(world.deps)])
    await expect.poll(() => received.at(-1)).toBe('ann OFFLINE')
    await endExpiredPresence(world.deps)
    await wait(50)
    expect(received.filter((each) => each === 'ann OFFLINE')).toHaveLength(1)
  })

  it.runIf(isLong)('set over a socket lasts as long as the socket', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    const socket = openSocket()
    await set(tenant, conversationId, 'ann', 'ONLINE', socket)
    await set(tenant, conversationId, 'ann', 'THINKING', socket)
    await wait(TTL * 2)
    expect(await stateOf(conversationId, 'ann')).toBe('THINKING')
    await socket.end()
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    await expect.poll(() => received).toEqual(['ann ONLINE', 'ann THINKING', 'ann OFFLINE'])
    await socket.end()
    await wait(TTL + 50)
    await endExpiredPresence(world.deps)
    await wait(50)
    expect(received).toHaveLength(3)
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
    // A presence that OFFLINE has ended is neither renewed nor published again when its socket ends.
    await wait(TTL)
    await Promise.all([one.end(), two.end()])
    expect(await stateOf(conversationId, 'ann')).toBe('OFFLINE')
    await wait(50)
    expect(received).toHaveLength(4)
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
    const conversationId = await tenant.newConversation('ann', 'watcher')
    const received = await watch(tenant, conversationId)
    await set(tenant, conversationId, 'ann', 'ONLINE')
    await expect.poll(() => received).toEqual(['ann ONLINE'])
    await removeParticipant(world.deps, tenant.as('watcher'), { conversationId, actor: 'watcher' })
    await set(tenant, conversationId, 'ann', 'AWAY')
    await wait(100)
    expect(received).toEqual(['ann ONLINE'])
  })
})
