// Shared state as the state of AG-UI: what a client is sent, and what it has changed.

import { describe, expect, it } from 'vitest'
import type { SharedState } from '../../../../src/client/index.ts'
import {
  DIGESTS,
  editsOf,
  MAX_STATE_BYTES,
  shownStates,
  stateEvent,
  stateOf,
} from '../../../../src/faces/agui/state.ts'

const state = (key: string, value: unknown, more: Partial<SharedState> = {}): SharedState =>
  ({ key, value, version: 3, updatedBy: 'bob', ...more }) as SharedState

describe('the state of AG-UI', () => {
  it('has the value at each key, and digests that do not depend on the order of fields', () => {
    const one = stateOf([state('list', { a: 1, b: 2 }), state('mood', null)])
    const other = stateOf([state('list', { b: 2, a: 1 }), state('mood', null)])
    expect(one).toMatchObject({ list: { a: 1, b: 2 }, mood: null })
    expect(one[DIGESTS]).toEqual(other[DIGESTS])
    expect(Object.keys(one[DIGESTS] as object)).toEqual(['list', 'mood'])
  })

  it('leaves out what exceeds its size, and a key with the name of the digests', () => {
    const large = 'x'.repeat(MAX_STATE_BYTES - 100)
    const states = [state('a', 'small'), state(DIGESTS, 1), state('b', large), state('c', large)]
    expect(shownStates(states).map(({ key }) => key)).toEqual(['a', 'b'])
  })

  it('is sent as a snapshot first, then as a patch, and not at all if nothing has changed', () => {
    const before = stateOf([state('list', { note: 'x'.repeat(1_000), items: [1] })])
    const after = stateOf([state('list', { note: 'x'.repeat(1_000), items: [1, 2] })])
    expect(stateEvent(null, before)).toEqual({ type: 'STATE_SNAPSHOT', snapshot: before })
    expect(stateEvent(before, before)).toBeNull()
    expect(stateEvent(before, after)).toMatchObject({
      type: 'STATE_DELTA',
      delta: [{ op: 'add', path: '/list/items/1', value: 2 }, {}],
    })
  })
})

describe('the changes of a client', () => {
  const [old, current] = [state('count', 1), state('count', 2)]
  const known = (states: SharedState[], change: object) => ({ ...stateOf(states), ...change })
  const edit = { key: 'count', value: 5, expectedVersion: 3 }
  const stale = { key: 'count', value: 5 }

  it.each<[string, unknown, SharedState[], object, { edits?: object[]; stale?: object[] }]>([
    ['none if it returns what it received', stateOf([current]), [current], {}, {}],
    ['none if others have changed what it returns', stateOf([old]), [current], {}, {}],
    ['written if nobody else has changed the value', known([current], { count: 5 }), [current], {}, { edits: [edit] }],
    ['stale if somebody else has', known([old], { count: 5 }), [current], {}, { stale: [stale] }],
    ['none if it has changed it to the same', known([old], { count: 2 }), [current], {}, {}],
    ['written for a new key', known([], { count: 5 }), [], {}, { edits: [{ ...edit, expectedVersion: 0 }] }],
    ['stale for a key that was deleted', known([old], { count: 5 }), [], {}, { stale: [stale] }],
    ['none for a key that is absent', stateOf([]), [current], {}, {}],
    ['stale for initial values of a page', { count: 5 }, [current], { hasReceived: false }, { stale: [stale] }],
    [
      'stale if the digests are lost and another actor has changed the key last',
      { count: 5 },
      [current],
      {},
      { stale: [stale] },
    ],
    [
      'written if the digests are lost and the viewer has',
      { count: 5 },
      [state('count', 2, { updatedBy: 'ada' })],
      {},
      { edits: [edit] },
    ],
    ['none without a state', undefined, [current], {}, {}],
    ['none for damaged digests', { count: 2, [DIGESTS]: 'x' }, [current], {}, {}],
  ])('are %s', (_, given, states, more, expected) => {
    const options = { viewer: 'ada', hasReceived: true, ...more }
    expect(editsOf(given, states, options)).toEqual({ edits: [], stale: [], ...expected })
  })
})
