// A tally counts open items per key and in total, and rejects items above the maximums.

import { expect, test } from 'vitest'
import { createTally } from '../../../../src/domain/event/tally.ts'

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
