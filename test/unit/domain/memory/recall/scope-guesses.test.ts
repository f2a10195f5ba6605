// Guesses of the state of the conversation that a recall will read.

import { describe, expect, it } from 'vitest'
import { createScopeGuesses, isSameScope } from '../../../../../src/domain/memory/recall/scope-guesses.ts'
import type { ScopeConversation } from '../../../../../src/store/sql/memory/recall/scope.ts'

const VIEWER = { tenant: 'acme', actor: 'ada' }
const read = (more: Partial<ScopeConversation> = {}, state = {}, view = {}): ScopeConversation => ({
  id: 'conv_1',
  lastSeq: 5,
  publicTurns: 4,
  hasFacts: false,
  ...more,
  index: {
    state: { lastSeq: 5, removedThrough: 0, embeddedThrough: 5, ...state },
    view: { actor: 'ada', windows: [1, 3], addressed: false, ...view },
  },
})

describe('a guess', () => {
  it('is the state that the last two recalls have read, or null if they differ', () => {
    const guesses = createScopeGuesses()
    const guess = () => guesses.guess(VIEWER, 'static-1', 'conv_1')
    expect(guess()).toBeNull()
    guesses.remember(VIEWER, 'static-1', read())
    expect(guess()).toBeNull()
    guesses.remember(VIEWER, 'static-1', read())
    expect(guess()).toEqual(read())
    guesses.remember(VIEWER, 'static-1', read({}, { lastSeq: 6 }))
    expect(guess()).toBeNull()
  })

  it('is made for one viewer, embedder and conversation', () => {
    const guesses = createScopeGuesses()
    for (let n = 0; n < 2; n++) guesses.remember(VIEWER, 'static-1', read())
    expect(guesses.guess({ ...VIEWER, actor: 'bob' }, 'static-1', 'conv_1')).toBeNull()
    expect(guesses.guess({ ...VIEWER, tenant: 'other' }, 'static-1', 'conv_1')).toBeNull()
    expect(guesses.guess(VIEWER, 'openai', 'conv_1')).toBeNull()
    expect(guesses.guess(VIEWER, 'static-1', 'conv_2')).toBeNull()
  })
})

it.each([
  ['the conversation', read({ id: 'conv_2' })],
  ['the number of turns', read({ publicTurns: 5 })],
  ['the facts', read({ hasFacts: true })],
  ['the newest entry', read({}, { lastSeq: 6 })],
  ['the end of the removed content', read({}, { removedThrough: 1 })],
  ['the vectors', read({}, { embeddedThrough: 4 })],
  ['the actor of the view', read({}, {}, { actor: null })],
  ['the windows', read({}, {}, { windows: [1] })],
  ['the visibility of private turns', read({}, {}, { addressed: true })],
])('a scope differs from another one if %s differs', (_, other) => {
  expect(isSameScope(read(), read())).toBe(true)
  expect(isSameScope(read(), other)).toBe(false)
})
