// Completion of mentions.

import { describe, expect, it } from 'vitest'
import { completed, completionsOf, typedMention } from '../../../../../src/web/transcript/composer/mentions.ts'

describe('a mention before the cursor', () => {
  it.each([
    ['@', { start: 1, text: '' }],
    ['@ad', { start: 1, text: 'ad' }],
    ['Hello @ad', { start: 7, text: 'ad' }],
    ['(@ad', { start: 2, text: 'ad' }],
    ['@"Ada', { start: 1, text: 'Ada' }],
    ['ada@example', null],
    ['@ada and', null],
    ['no mention', null],
    ['', null],
    ['@zoë', { start: 1, text: 'zoë' }],
    [`@${'a'.repeat(200)}`, null],
  ])('in %j is %j', (text, expected) => {
    expect(typedMention(text, text.length)).toEqual(expected)
  })

  it('ends at the cursor, not at the end of the text', () => {
    expect(typedMention('@ad and more', 3)).toEqual({ start: 1, text: 'ad' })
    expect(typedMention('@ad and more', 8)).toBeNull()
  })
})

describe('completions', () => {
  const people = [
    { actor: 'bob', displayName: null },
    { actor: 'planner', displayName: 'Ada the planner' },
    { actor: 'ada', displayName: null },
    { actor: 'granada', displayName: null },
  ]
  const names = (typed: string) => completionsOf(people, typed).map(({ actor }) => actor)

  it('begin with names that start with the text, then those that contain it', () => {
    expect(names('AD')).toEqual(['planner', 'ada', 'granada'])
    expect(names('b')).toEqual(['bob'])
    expect(names('x')).toEqual([])
  })

  it('are everybody before anything is typed, and at most 8', () => {
    expect(names('')).toHaveLength(4)
    const many = Array.from({ length: 20 }, (_, n) => ({ actor: `a${n}`, displayName: null }))
    expect(completionsOf(many, '')).toHaveLength(8)
  })
})

describe('a completed mention', () => {
  const complete = (text: string, actor: string, cursor = text.length) =>
    completed(text, cursor, typedMention(text, cursor)!, actor)

  it('is followed by a blank, after which the cursor stands', () => {
    expect(complete('Hello @ad', 'ada')).toEqual({ text: 'Hello @ada ', cursor: 11 })
    expect(complete('@ad and more', 'ada', 3)).toEqual({ text: '@ada and more', cursor: 5 })
  })

  it('has quotes around a name with blanks', () => {
    expect(complete('@a', 'Ada Lovelace')).toEqual({ text: '@"Ada Lovelace" ', cursor: 16 })
    expect(complete('@"Ad', 'Ada Lovelace')).toEqual({ text: '@"Ada Lovelace" ', cursor: 16 })
  })
})
