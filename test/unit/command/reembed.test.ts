// The progress bar of `colloquy reembed`.

import { expect, it } from 'vitest'
import { barOf } from '../../../src/command/reembed.ts'

const pace = (done: number, remaining: number, etaSeconds: number | null) => ({
  embedder: 'e',
  serving: 'e',
  done,
  remaining,
  perSecond: 2.5,
  etaSeconds,
})

it.each([
  [pace(0, 0, 0), '[########################] 100 %  0 entries remain, 2.5/s, about 0 s left'],
  [pace(0, 9, null), '[........................] 0 %  9 entries remain, 2.5/s'],
  [pace(1, 2, 7), '[########................] 33 %  2 entries remain, 2.5/s, about 7 s left'],
  [pace(999, 1, 1), '[#######################.] 99 %  1 entries remain, 2.5/s, about 1 s left'],
])('of %j', (progress, bar) => {
  expect(barOf(progress)).toBe(bar)
})
