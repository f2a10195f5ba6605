// The end of a peak of waiting data, by the numbers of several checks.

import { expect, test } from 'vitest'
import { createPeakWatch } from '../../../../src/server/load/peak.ts'

const MiB = 1024 * 1024

test.each<[string, [bytes: number, at: number][], number]>([
  [
    'is reported once after 2 s with little data',
    [
      [40, 0],
      [1, 500],
      [1, 2_000],
      [1, 2_600],
      [1, 9_000],
    ],
    1,
  ],
  [
    'is reported after each peak',
    [
      [40, 0],
      [1, 2_100],
      [40, 3_000],
      [1, 5_100],
    ],
    2,
  ],
  [
    'is not reported while much data waits',
    [
      [40, 0],
      [9, 2_500],
      [9, 5_000],
    ],
    0,
  ],
  [
    'is reported later if more data waits again',
    [
      [40, 0],
      [1, 1_000],
      [9, 1_900],
      [1, 3_000],
      [1, 3_800],
    ],
    0,
  ],
  [
    'is not reported if little data has waited',
    [
      [30, 0],
      [1, 3_000],
    ],
    0,
  ],
])('the end of a peak %s', (_, checks, expected) => {
  let ends = 0
  const watch = createPeakWatch(() => (ends += 1))
  for (const [bytes, at] of checks) watch(bytes * MiB, at)
  expect(ends).toBe(expected)
})
