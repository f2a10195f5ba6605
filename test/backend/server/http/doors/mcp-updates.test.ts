// The notifications of an MCP session: how often they are sent, what is stored, and what happens when messages are lost.

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createSession,
  endSession,
  noteNotified,
  subscribe,
  unsubscribe,
  useSession,
} from '../../../../../src/domain/kernel/live/mcp-session.ts'
import { createPushIterator, type PushIterator } from '../../../../../src/runtime/push-iterator.ts'
import { VerbFailed } from '../../../../../src/faces/call.ts'
import type { Caller, ConversationEvent } from '../../../../../src/faces/mcp/caller.ts'
import { startUpdates } from '../../../../../src/server/http/doors/mcp-updates.ts'
import { embedded } from '../../../../support/backend.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { useWorld } from '../../../../support/world.ts'

const URI = 'colloquy://conversation/c'
const patiently = { timeout: PATIENCE_MS }

describe('the notifications of a session', () => {
  const world = useWorld(embedded)

  /** Starts the notifications of a session that has seen the entry 3, of a conversation with the newest entry `lastSeq`. */
  async function start({ lastSeq = 3, seq = 3, isBusDeaf = false, isHidden = false } = {}) {
    const { deps } = world
    const viewer = world.tenant().as('ada')
    const session = await createSession(deps, viewer)
    await subscribe(deps, session, URI, seq)
    const clock = fakeClock()
    const events: PushIterator<ConversationEvent>[] = []
    const ended: AbortSignal[] = []
    const caller = {
      async call() {
        if (isHidden) throw new VerbFailed('NOT_FOUND', 'There is none.')
        return { lastSeq }
      },
      follow(_: unknown, signal: AbortSignal) {
        const source = createPushIterator<ConversationEvent>(100)
        signal.addEventListener('abort', () => {
          source.end()
          ended.push(signal)
        })
        events.push(source)
        return source.iterate(() => {})
      },
    } as unknown as Caller
    const closing = new AbortController()
    onTestFinished(() => closing.abort())
    const notified: string[] = []
    const end = vi.fn<() => void>()
    const bus = isBusDeaf ? { ...deps.bus, subscribe: async () => async () => {} } : deps.bus
    await startUpdates({ ...deps, bus, clock }, { viewer, caller, session }, closing.signal, {
      notify: (uri) => void notified.push(uri),
      end,
    })
    if (!isHidden) await vi.waitUntil(() => events.length > 0, patiently)
    const stored = async () => (await useSession(deps, viewer, session.id))?.subscriptions[URI]
    const emit = async (...numbers: number[]) => {
      for (const number of numbers) events[0]!.push({ __typename: 'TurnAppended', seq: number } as ConversationEvent)
      // The events are read one after the other.
      for (let step = 0; step < 10 * numbers.length; step++) await Promise.resolve()
    }
    return { clock, notified, end, session, emit, events, ended, stored, closing }
  }

  it('are sent at once, and then at most once per second for each resource', async () => {
    const { clock, notified, emit } = await start()
    await emit(4)
    await clock.advance(0)
    expect(notified).toEqual([URI])
    await emit(5, 6, 7)
    await clock.advance(999)
    expect(notified).toHaveLength(1)
    await clock.advance(1)
    expect(notified).toHaveLength(2)
    await clock.advance(5_000)
    expect(notified).toHaveLength(2)
  })

  it('begin with one for changes that the client has not been notified of', async () => {
    const behind = await start({ lastSeq: 5 })
    await behind.clock.advance(0)
    expect(behind.notified).toEqual([URI])
    const current = await start()
    await current.clock.advance(0)
    expect(current.notified).toEqual([])
  })

  it('end with one for a conversation that can no longer be read', async () => {
    const { notified } = await start({ isHidden: true })
    await vi.waitUntil(() => notified.length > 0, patiently)
    expect(notified).toEqual([URI])
  })

  it('stop for a resource to which the session no longer subscribes', async () => {
    const { session, ended, events, emit, clock, notified } = await start()
    await unsubscribe(world.deps, session, URI)
    await vi.waitUntil(() => ended.length === 1, patiently)
    await emit(4)
    await clock.advance(1_000)
    expect([events.length, notified]).toEqual([1, []])
  })

  it('are stored regularly and at the end, but not before they are sent', async () => {
    const { clock, emit, stored, closing } = await start()
    await emit(4)
    expect(await stored()).toBe(3)
    await clock.advance(10_000)
    await vi.waitUntil(async () => (await stored()) === 4, patiently)
    await emit(5)
    await clock.advance(0)
    closing.abort()
    await vi.waitUntil(async () => (await stored()) === 5, patiently)
  })

  it('follow a subscription that another process has added, and end with a session, also if messages are lost', async () => {
    const { clock, session, events, end } = await start({ isBusDeaf: true })
    await subscribe(world.deps, session, `${URI}2`, 0)
    await clock.advance(10_000)
    await vi.waitUntil(() => events.length === 2, patiently)
    await noteNotified(world.deps, session, { [URI]: 9 })
    await endSession(world.deps, session)
    await clock.advance(10_000)
    await vi.waitUntil(() => end.mock.calls.length === 1, patiently)
  })
})
