// Counts of open items per key and in total, and their maximums.

import { expect, test } from 'vitest'
import { createTally } from '../../../src/domain/event/tally.ts'

test('rejects a key at its maximum, and every key at the maximum total', () => {
  const tally = createTally({ perKey: 2, total: 3 })
  const leaves = ['a', 'a', 'a', 'b', 'b', 'c'].map((key) => tally.enter(key))
  expect(leaves.map((leave) => leave !== null)).toEqual([true, true, false, true, false, false])
  leaves[0]!()
  leaves[0]!()
  expect(tally.total).toBe(2)
  expect(tally.enter('a')).not.toBeNull()
  expect(tally.enter('a')).toBeNull()
})
