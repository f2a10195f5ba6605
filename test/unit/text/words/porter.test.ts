// The stemmer, with examples of each step from Porter's paper and vocabulary. It was compared once with all 23,531
// words of the vocabulary, whose licence does not allow shipping them.

import { expect, it } from 'vitest'
import { porter } from '../../../../src/text/words/porter.ts'

it.each([
  ['plural endings', 'caresses caress ponies poni ties ti caress caress cats cat yes ye gas ga'],
  ['the endings -eed, -ed and -ing', 'feed feed agreed agre plastered plaster bled bled motoring motor sing sing'],
  [
    'or restores letters after -ed and -ing',
    'conflated conflat troubled troubl sized size hopping hop falling fall filing file',
  ],
  ['or replaces a final y', 'happy happi sky sky dyeing dye syzygy syzygi yellow yellow'],
  ['long suffixes (step 2)', 'relational relat conditional condit valenci valenc vietnamization vietnam operator oper'],
  [
    'shorter suffixes (step 3)',
    'triplicate triplic formative form formalize formal electrical electr hopeful hope goodness good',
  ],
  [
    'the shortest suffixes (step 4)',
    'revival reviv allowance allow adoption adopt communism commun effective effect bowdlerize bowdler',
  ],
  ['a final e or l', 'probate probat rate rate cease ceas controlling control roll roll'],
  ['suffixes of later versions of the algorithm', 'possibly possibl archaeology archaeolog'],
])('the stemmer removes %s', (_, pairs) => {
  const list = pairs.split(' ')
  const inputs = list.filter((_, i) => i % 2 === 0)
  expect(inputs.map(porter)).toEqual(list.filter((_, i) => i % 2 === 1))
})
