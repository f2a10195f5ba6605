// The halves of surrogate pairs.

import { expect, it } from 'vitest'
import { isFirstHalf, startsWithSecondHalf } from '../../../../../src/domain/turn/streaming/delta-batch.ts'

const FIRST = '\ud83d'
const SECOND = '\ude00'

it.each([
  ['', false],
  ['a', false],
  [FIRST, false],
  [SECOND, true],
  [`${SECOND}a`, true],
  [`a${SECOND}`, false],
  ['\ud800', false],
  ['\udbff', false],
  ['\udc00', true],
  ['\udfff', true],
  ['\ue000', false],
])('%j starts with a second half: %j', (text, expected) => {
  expect(startsWithSecondHalf(text)).toBe(expected)
})

it.each([
  [0xd7ff, false],
  [0xd800, true],
  [0xdbff, true],
  [0xdc00, false],
  [Number.NaN, false],
])('the unit %d is a first half: %j', (unit, expected) => {
  expect(isFirstHalf(unit)).toBe(expected)
})
