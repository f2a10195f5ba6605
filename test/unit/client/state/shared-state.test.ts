// The live shared state when events and answers arrive in an order that a server seldom chooses.

import { expect, it } from 'vitest'
import {
  sharedStateOf,
  type Changes,
  type ConversationHandle,
  type FollowedEvent,
  type Live,
  type Watched,
} from '../../../../src/client/index.ts'

type Stored = { value: unknown; version: number }

/** A conversation with one state, whose events arrive when `receive` is called. */
function createFake(first: Stored | null) {
  let [state, reads] = [first, 0]
  let watched: Watched<Stored> = { value: null, status: 'loading', error: null }
  let read: (signal: AbortSignal, changes: Changes<Stored>) => Promise<Stored>
  let listener = () => {}
  const conversation = {
    sharedState: async () => ((reads += 1), state),
    updateSharedState: async ({ value }: { value: unknown }) => {
      state = { value, version: (state?.version ?? 0) + 1 }
      return { state, version: state.version, seq: 1, deduplicated: false }
    },
    watch(given: typeof read): Live<Watched<Stored>> {
      read = given
      return { get: () => watched, subscribe: (added) => ((listener = added), () => {}) }
    },
  } as unknown as ConversationHandle
  const live = sharedStateOf(conversation, 'board')
  live.subscribe(() => {})
  return {
    live,
    reads: () => reads,
    store: (next: Stored | null) => void (state = next),
    async receive(...given: [version: number, patch: unknown[] | null, deleted?: boolean][]) {
      const events = given.map(([version, patch, deleted = false]) => {
        return { __typename: 'SharedStateChanged', key: 'board', version, patch, deleted } as FollowedEvent
      })
      watched = {
        value: await read(new AbortController().signal, { value: watched.value, events }),
        status: 'live',
        error: null,
      }
      listener()
    },
  }
}
const append = (value: unknown) => [{ op: 'add', path: '/-', value }]

it('ignores the events of changes that the read contained', async () => {
  const { live, receive, reads } = createFake({ value: ['a', 'b'], version: 2 })
  await receive()
  await receive([2, append('b')], [3, append('c')])
  expect(live.get()).toMatchObject({ value: ['a', 'b', 'c'], version: 3 })
  expect(reads()).toBe(1)
})

it.each([
  ['leaves a version out', [4, append('d')]],
  ['cannot be applied', [3, [{ op: 'remove', path: '/9' }]]],
  ['is not known', [3, null]],
] as const)('reads again if a patch %s', async (_, [version, patch]) => {
  const { live, receive, reads, store } = createFake({ value: ['a', 'b'], version: 2 })
  await receive()
  store({ value: ['c'], version: 4 })
  await receive([version, patch as unknown[]])
  expect(live.get()).toMatchObject({ value: ['c'], version: 4 })
  expect(reads()).toBe(2)
})

it('shows no acknowledged change after a deletion, although the versions start at 1 again', async () => {
  const { live, receive, store } = createFake({ value: ['a', 'b'], version: 2 })
  await receive()
  expect(await live.update({ value: ['mine'] })).toBe(3)
  expect(live.get()).toMatchObject({ value: ['mine'], version: 2 })
  store({ value: ['new'], version: 1 })
  await receive([3, null, true])
  expect(live.get()).toMatchObject({ value: ['new'], version: 1, isPending: false })
})

it('returns the same state until it changes, and leaves the states returned before as they were', async () => {
  const { live, receive } = createFake({ value: { items: ['a'] }, version: 1 })
  await receive()
  const before = live.get()
  expect(live.get()).toBe(before)
  const updating = live.update(({ items }) => void items.push('b'))
  expect(live.get().value).toEqual({ items: ['a', 'b'] })
  expect(before.value).toEqual({ items: ['a'] })
  await updating
  expect(live.get()).not.toBe(before)
})

it('is one for each key of a handle, so that all parts of a page show the same changes', () => {
  const conversation = { watch: () => ({}) } as unknown as ConversationHandle
  const live = sharedStateOf(conversation, 'board')
  expect(sharedStateOf(conversation, 'board')).toBe(live)
  expect(sharedStateOf(conversation, 'other')).not.toBe(live)
})
