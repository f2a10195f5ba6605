// Two actors never share a name in a context, in any rendering.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { distinctNames } from '../../../../../src/domain/memory/context/names.ts'
import { openAiName } from '../../../../../src/providers/openai/chat-request.ts'

const namesOf = (...people: [actor: string, displayName: string | null][]) =>
  Object.fromEntries(distinctNames(people.map(([actor, displayName]) => ({ actor, displayName }))))

describe('the names of actors', () => {
  it('are their display names, or their actor ids if they have no display name', () => {
    expect(namesOf(['u-1', 'Ada Lovelace'], ['u-2', null])).toEqual({ 'u-1': 'Ada Lovelace', 'u-2': 'u-2' })
  })

  it('get the actor as a suffix if they are equal without regard to case, width and punctuation', () => {
    expect(namesOf(['u-1', 'Ada'], ['u-2', 'ＡDA'], ['u-3', 'Ada '], ['u-4', 'Bob!'], ['u-5', 'Bob?'])).toEqual({
      'u-1': 'Ada (u-1)',
      'u-2': 'ＡDA (u-2)',
      'u-3': 'Ada (u-3)',
      'u-4': 'Bob! (u-4)',
      'u-5': 'Bob? (u-5)',
    })
  })

  it('differ from the ids of other actors, from suffixed names, and from the names of quoted sections', () => {
    expect(namesOf(['u-1', 'Ada'], ['u-2', 'u-1'])).toEqual({ 'u-1': 'Ada', 'u-2': 'u-1 (u-2)' })
    expect(namesOf(['u-1', 'Summary'])).toEqual({ 'u-1': 'Summary (u-1)' })
    const three = namesOf(['u-1', 'Ada'], ['u-2', 'Ada'], ['u-3', 'Ada (u-2)'])
    expect(three['u-1']).toBe('Ada (u-1)')
    expect(new Set(Object.values(three)).size).toBe(3)
  })

  it('differ from names assigned earlier', () => {
    expect(distinctNames([{ actor: 'u-2', displayName: 'Ada' }], new Map([['u-1', 'Ada']]))).toEqual(
      new Map([
        ['u-1', 'Ada'],
        ['u-2', 'Ada (u-2)'],
      ]),
    )
  })

  it('are distinct for any participants, as text and as names for OpenAI', () => {
    const name = fc.oneof(
      fc.constantFrom(
        'Ada',
        'ada',
        'Ada!',
        'Ada (a)',
        'Ada_a_',
        'a',
        'recall',
        'x'.repeat(100),
        '',
        '\u202eadA',
        'Zoë',
      ),
      fc.string({ unit: fc.constantFrom('A', 'a', '(', ')', '_', ' ', 'é'), maxLength: 70 }),
    )
    const people = fc.uniqueArray(
      fc.record({ actor: fc.oneof(fc.constantFrom('a', 'b', 'Ada', 'a) (b'), name), displayName: fc.option(name) }),
      { selector: ({ actor }) => actor, maxLength: 8 },
    )
    fc.assert(
      fc.property(people, (given) => {
        const names = [...distinctNames(given).values()]
        expect(new Set(names).size).toBe(given.length)
        expect(new Set(names.map(openAiName)).size).toBe(given.length)
      }),
      { numRuns: 2_000 },
    )
  })
})
