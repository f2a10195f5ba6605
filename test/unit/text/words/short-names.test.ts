// Short forms of first names.

import { expect, it } from 'vitest'
import { isPartOf, isShortFor } from '../../../../src/text/words/short-names.ts'

it.each([
  ['Mel', 'Melanie', true],
  ['Mellie', 'Melanie', true],
  ['Bobby', 'Robert', true],
  ['Liz', 'Elizabeth', true],
  ['Pepe', 'José', true],
  ['Zoe', 'Zoë', false],
  ['Melanie', 'Melanie', false],
  ['Man', 'Melanie', false],
  ['Lanie', 'Melanie', false],
  ['Caro', 'Carla', false],
  ['Me', 'Melanie', false],
])('%s for %s: %s', (short, name, expected) => {
  expect(isShortFor(short, name)).toBe(expected)
})

it('is a part of the name, but not the whole', () => {
  expect(isPartOf('Lanie', 'Melanie')).toBe(true)
  expect(isPartOf('Melanie', 'Melanie')).toBe(false)
  expect(isPartOf('Bob', 'Robert')).toBe(false)
})
