// The stemmer against examples of Porter's paper and vocabulary, step by step. All 23,531 words of the vocabulary were
// compared once; their licence does not allow shipping them.

import { expect, it } from 'vitest'
import { porter } from '../../src/text/porter.ts'

it.each([
  ['plurals', 'caresses caress ponies poni ties ti caress caress cats cat yes ye gas ga'],
  ['past and present', 'feed feed agreed agre plastered plaster bled bled motoring motor sing sing'],
  ['the remains of those', 'conflated conflat troubled troubl sized size hopping hop falling fall filing file'],
  ['a final y', 'happy happi sky sky dyeing dye syzygy syzygi yellow yellow'],
  ['long suffixes', 'relational relat conditional condit valenci valenc vietnamization vietnam operator oper'],
  ['shorter ones', 'triplicate triplic formative form formalize formal electrical electr hopeful hope goodness good'],
  ['the shortest', 'revival reviv allowance allow adoption adopt communism commun effective effect bowdlerize bowdler'],
  ['a final e or l', 'probate probat rate rate cease ceas controlling control roll roll'],
  ['the later changes', 'possibly possibl archaeology archaeolog'],
])('the stemmer removes %s', (_, pairs) => {
  const list = pairs.split(' ')
  const given = list.filter((_, i) => i % 2 === 0)
  expect(given.map(porter)).toEqual(list.filter((_, i) => i % 2 === 1))
})
