// Forms of verbs.

import { describe, expect, it } from 'vitest'
import {
  BASE,
  baseOfThird,
  ING,
  PARTICIPLE,
  PAST,
  THIRD,
  thirdPerson,
  verbOf,
} from '../../../../../src/providers/rules/sentences/verbs.ts'

describe('a verb form', () => {
  it.each([
    ['moves', 'move', THIRD],
    ['moving', 'move', ING],
    ['moved', 'move', PAST | PARTICIPLE],
    ['studies', 'study', THIRD],
    ['studied', 'study', PAST | PARTICIPLE],
    ['jogging', 'jog', ING],
    ['quitting', 'quit', ING],
    ['goes', 'go', THIRD],
    ['went', 'go', PAST],
    ['gone', 'go', PARTICIPLE],
    ['read', 'read', BASE | PAST | PARTICIPLE],
    ['has', 'have', THIRD],
    ['teaches', 'teach', THIRD],
    ['dying', 'die', ING],
    ['being', 'be', ING],
    ['travelled', 'travel', PAST | PARTICIPLE],
    ['found', 'find', PAST | PARTICIPLE],
    ['founded', 'found', PAST | PARTICIPLE],
  ])('%s is one of %s', (form, lemma, forms) => {
    expect(verbOf(form)).toEqual({ lemma, forms })
  })

  it.each(['house', 'red', 'thing', 'toString', 'constructor', ''])('is not %j', (word) => {
    expect(verbOf(word)).toBeNull()
    expect(baseOfThird(word)).toBeNull()
  })

  it('in the third person has a base, and the reverse', () => {
    for (const verb of ['live', 'study', 'teach', 'go', 'have', 'watch', 'play', 'fix'])
      if (verbOf(verb)) expect(baseOfThird(thirdPerson(verb))).toBe(verb)
    expect(thirdPerson('listen to')).toBe('listens to')
  })
})
