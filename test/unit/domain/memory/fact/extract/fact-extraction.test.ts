// The facts of a call that are new to its viewer, the number of repetitions, and the keys of visibility sets.

import { expect, it } from 'vitest'
import { newAndRepeated } from '../../../../../../src/domain/memory/fact/extract/fact-extraction.ts'
import { membersOf, visibilityOf } from '../../../../../../src/domain/memory/fact/write.ts'

it.each<[string, asserted: string[], known: string[], ids: string[], repetitions: number]>([
  ['nothing is asserted', [], [], [], 0],
  ['all facts are new', ['a', 'b'], [], ['a', 'b'], 0],
  ['a new fact is asserted twice', ['a', 'b', 'a'], [], ['a', 'b'], 1],
  ['a known fact is asserted', ['a', 'b'], ['b'], ['a'], 1],
  ['a known fact is asserted twice', ['b', 'b'], ['b'], [], 2],
  ['a stored fact is asserted that the viewer did not see', ['hidden'], ['other'], ['hidden'], 0],
])('a call returns new facts and counts repetitions if %s', (_, asserted, known, ids, repetitions) => {
  expect(newAndRepeated(asserted, new Set(known))).toEqual({ ids, repetitions })
})

it('a visibility set has one key for each audience, and for each MEMBERS conversation', () => {
  const [one, two] = [`conv_${'1'.repeat(26)}`, `conv_${'2'.repeat(26)}`]
  expect(visibilityOf(null, null)).toBe('')
  expect(visibilityOf(['b', 'a', 'a'], null)).toBe(visibilityOf(['a', 'b'], null))
  const keys = [null, ['a'], ['a', 'b']].flatMap((audience) =>
    [null, one, two].map((each) => visibilityOf(audience, each)),
  )
  expect(new Set(keys).size).toBe(9)
  expect(keys.map(membersOf)).toEqual([null, one, two, null, one, two, null, one, two])
})
