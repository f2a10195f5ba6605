// The contract of every presence store. It runs with two stores that share their marks: the same store, or the stores
// of two processes.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WRITER_HOLDER, type PresenceMark, type PresenceStore } from '../../src/bus/presence.ts'

type Stores = {
  store: PresenceStore
  other: PresenceStore
  /** Moves the clock of both stores forward. */
  elapse(ms: number): Promise<void>
}

/** Times to live, ms. Only marks with the short time expire in a test. */
const LONG = 60_000
const SHORT = 60

const mark = (actor: string, holder = 'socket', conversationId = 'conversation'): PresenceMark => ({
  tenant: 'tenant',
  conversationId,
  actor,
  holder,
})
const ada = { tenant: 'tenant', actor: 'ada' }

export function presenceContract(name: string, create: () => Promise<Stores>): void {
  describe(name, () => {
    let { store, other, elapse } = {} as Stores
    beforeEach(async () => {
      ;({ store, other, elapse } = await create())
    })
    afterEach(async () => {
      await Promise.all([store.close(), other.close()])
    })

    /** The states of the conversation's actors, as a plain object. */
    const states = async (conversationId = 'conversation') =>
      Object.fromEntries((await other.states([conversationId])).get(conversationId) ?? [])

    test('every process reads a mark, but only in the conversation of the mark', async () => {
      await store.set(mark('ada'), 'ONLINE', LONG)
      await store.set(mark('bob'), 'TYPING', LONG)
      await store.set(mark('eve', 'socket', 'elsewhere'), 'ONLINE', LONG)
      expect(await other.states(['conversation', 'elsewhere', 'nowhere'])).toEqual(
        new Map([
          [
            'conversation',
            new Map([
              ['ada', 'ONLINE'],
              ['bob', 'TYPING'],
            ]),
          ],
          ['elsewhere', new Map([['eve', 'ONLINE']])],
          ['nowhere', new Map()],
        ]),
      )
      expect(await other.states([])).toEqual(new Map())
    })

    test('setting a mark again changes its state and adds no second mark', async () => {
      await store.set(mark('ada'), 'ONLINE', LONG)
      await other.set(mark('ada'), 'TYPING', LONG)
      expect(await states()).toEqual({ ada: 'TYPING' })
      expect(await store.remove(mark('ada'))).toBe(true)
      expect(await states()).toEqual({})
    })

    test('an actor has the state of its latest mark, or of the previous mark once that is removed', async () => {
      await store.set(mark('ada', 'phone'), 'AWAY', LONG)
      await store.set(mark('ada', 'desk'), 'TYPING', LONG)
      expect(await states()).toEqual({ ada: 'TYPING' })
      await store.set(mark('ada', 'phone'), 'AWAY', LONG)
      expect(await states()).toEqual({ ada: 'AWAY' })
      await store.remove(mark('ada', 'phone'))
      expect(await states()).toEqual({ ada: 'TYPING' })
    })

    test('remove returns false for a mark that was never set or is already removed', async () => {
      expect(await store.remove(mark('ada'))).toBe(false)
      await store.set(mark('ada'), 'ONLINE', LONG)
      expect(await store.remove(mark('ada', 'another'))).toBe(false)
      expect(await store.remove(mark('ada'))).toBe(true)
      expect(await other.remove(mark('ada'))).toBe(false)
    })

    test('of concurrent removals of a mark, exactly one returns true', async () => {
      await store.set(mark('ada'), 'ONLINE', LONG)
      const removals = Array.from({ length: 20 }, (_, i) => (i % 2 ? store : other).remove(mark('ada')))
      expect((await Promise.all(removals)).filter(Boolean)).toHaveLength(1)
    })

    test('an expired mark has no effect even before takeExpired, which returns it once', async () => {
      await store.set(mark('ada', 'phone'), 'ONLINE', LONG)
      await store.set(mark('ada', 'desk'), 'TYPING', SHORT)
      await store.set(mark('bob'), 'ONLINE', SHORT)
      expect(await store.takeExpired(10)).toEqual([])
      await elapse(SHORT)
      expect(await states()).toEqual({ ada: 'ONLINE' })
      expect(await store.remove(mark('bob'))).toBe(false)
      expect(await other.takeExpired(10)).toEqual(expect.arrayContaining([mark('ada', 'desk'), mark('bob')]))
      expect(await store.takeExpired(10)).toEqual([])
      expect(await states()).toEqual({ ada: 'ONLINE' })
    })

    test('concurrent takeExpired calls return each expired mark once', async () => {
      const marks = Array.from({ length: 60 }, (_, i) => mark(`actor-${i}`, 'socket', `conversation-${i % 3}`))
      await Promise.all(marks.map((one) => store.set(one, 'ONLINE', SHORT)))
      await elapse(SHORT)
      const calls = Array.from({ length: 20 }, (_, i) => (i % 2 ? store : other).takeExpired(7))
      const taken = await Promise.all(calls)
      expect(taken.every((some) => some.length <= 7)).toBe(true)
      const names = (some: PresenceMark[]) => some.map(({ actor }) => actor).sort()
      expect(names(taken.flat())).toEqual(names(marks))
    })

    test('setting a mark again prevents its expiry, and restores an expired mark', async () => {
      await store.set(mark('ada'), 'ONLINE', SHORT)
      await store.set(mark('bob'), 'ONLINE', SHORT)
      await other.set(mark('ada'), 'ONLINE', LONG)
      await elapse(SHORT)
      await other.set(mark('bob'), 'ONLINE', LONG)
      expect(await store.takeExpired(10)).toEqual([])
      expect(await states()).toEqual({ ada: 'ONLINE', bob: 'ONLINE' })
    })

    test('a shorter time to live replaces a longer one', async () => {
      await store.set(mark('ada'), 'ONLINE', LONG)
      await store.set(mark('ada'), 'ONLINE', SHORT)
      await elapse(SHORT)
      expect(await store.takeExpired(10)).toEqual([mark('ada')])
    })

    test('a mark of a writer decides the state only of an actor without another mark', async () => {
      await store.set(mark('ada', 'phone'), 'TYPING', LONG)
      await other.set(mark('ada', WRITER_HOLDER), 'ONLINE', LONG)
      await other.set(mark('bob', WRITER_HOLDER), 'ONLINE', LONG)
      expect(await states()).toEqual({ ada: 'TYPING', bob: 'ONLINE' })
      await store.remove(mark('ada', 'phone'))
      expect(await states()).toEqual({ ada: 'ONLINE', bob: 'ONLINE' })
    })

    test('removeActor removes all marks of the actor in one conversation', async () => {
      await store.set(mark('ada', 'phone'), 'AWAY', LONG)
      await store.set(mark('ada', 'desk'), 'TYPING', LONG)
      await store.set(mark('bob'), 'ONLINE', LONG)
      await store.set(mark('ada', 'phone', 'elsewhere'), 'ONLINE', LONG)
      expect(await other.removeActor('conversation', ada)).toBe(true)
      expect(await other.removeActor('conversation', ada)).toBe(false)
      expect(await states()).toEqual({ bob: 'ONLINE' })
      expect(await states('elsewhere')).toEqual({ ada: 'ONLINE' })
    })

    test('the last process to disconnect removes all marks of the actor in its tenant', async () => {
      const foreign = { ...mark('ada', 'phone', 'foreign'), tenant: 'other' }
      await store.set(mark('ada', 'phone'), 'AWAY', LONG)
      await store.set(mark('ada', 'desk'), 'TYPING', LONG)
      await other.set(mark('ada', 'phone', 'elsewhere'), 'ONLINE', LONG)
      await store.set(mark('bob'), 'ONLINE', LONG)
      await store.set(foreign, 'ONLINE', LONG)
      await store.connect(ada, 'one', LONG)
      await other.connect(ada, 'two', LONG)
      expect(await store.disconnect(ada, 'one')).toEqual([])
      expect(await states()).toEqual({ ada: 'TYPING', bob: 'ONLINE' })
      expect((await other.disconnect(ada, 'two')).toSorted()).toEqual(['conversation', 'elsewhere'])
      expect(await states()).toEqual({ bob: 'ONLINE' })
      expect(await states('elsewhere')).toEqual({})
      expect(await states('foreign')).toEqual({ ada: 'ONLINE' })
      expect(await other.disconnect(ada, 'two')).toEqual([])
      expect(await store.takeExpired(10)).toEqual([])
    })

    test('of processes that disconnect at the same time, exactly one removes the marks', async () => {
      await store.set(mark('ada'), 'ONLINE', LONG)
      const processes = Array.from({ length: 20 }, (_, i) => ({ via: i % 2 ? store : other, name: `process-${i}` }))
      await Promise.all(processes.map(({ via, name }) => via.connect(ada, name, LONG)))
      const removed = await Promise.all(processes.map(({ via, name }) => via.disconnect(ada, name)))
      expect(removed.flat()).toEqual(['conversation'])
    })

    test('a connection that is not renewed does not count, and a renewed one does', async () => {
      await store.set(mark('ada'), 'ONLINE', LONG)
      await store.connect(ada, 'crashed', SHORT)
      await store.connect(ada, 'renewed', SHORT)
      await other.connect(ada, 'ending', LONG)
      await other.connect(ada, 'renewed', LONG)
      await elapse(SHORT)
      expect(await other.disconnect(ada, 'ending')).toEqual([])
      expect(await other.disconnect(ada, 'renewed')).toEqual(['conversation'])
    })

    test('names and states may contain any characters', async () => {
      const odd = mark('a:b|c "d"\n漢🙂', 'x y:1/%z', 'conversation:"\\')
      await store.set(odd, 'TYPING:\nto\n🙂', SHORT)
      await store.set(mark('__proto__', 'socket', odd.conversationId), 'ONLINE', LONG)
      const seen = (await other.states([odd.conversationId])).get(odd.conversationId)
      expect(seen).toEqual(
        new Map([
          [odd.actor, 'TYPING:\nto\n🙂'],
          ['__proto__', 'ONLINE'],
        ]),
      )
      await elapse(SHORT)
      expect(await other.takeExpired(10)).toEqual([odd])
    })
  })
}
