// A tally counts open items per key and in total, and rejects items above the maximums.

import { expect, test } from 'vitest'
import { createTally } from '../../../../src/runtime/limits/tally.ts'

test('a tally rejects a key at its maximum, and every key at the maximum total, until an item leaves', () => {
  const tally = createTally({ perKey: 2, total: 3 })
  const leaves = ['a', 'a', 'a', 'b', 'b', 'c'].map((key) => tally.enter(key))
  expect(leaves.map((leave) => leave !== null)).toEqual([true, true, false, true, false, false])
  leaves[0]!()
  leaves[0]!()
  expect(tally.total).toBe(2)
  expect(tally.enter('a')).not.toBeNull()
  expect(tally.enter('a')).toBeNull()
})

test('a tally adds amounts, and forgets a key whose count is 0', () => {
  const tally = createTally()
  tally.add('a', 10)
  tally.add('b', 5)
  tally.add('a', -10)
  expect([...tally.keys()]).toEqual(['b'])
  expect([tally.size, tally.total, tally.of('a'), tally.of('b')]).toEqual([1, 5, 0, 5])
})
