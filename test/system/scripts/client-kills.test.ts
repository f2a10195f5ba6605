// The counts of `npm run check:clients`: lost, doubled and disordered entries.

import { expect, it } from 'vitest'
import { countFaults } from '../../../scripts/client-kills.ts'

it.each([
  ['nothing, if each entry arrives once', [1, 2, 3], { lost: 0, doubled: 0, disordered: 0 }],
  ['an entry in the middle that never arrives', [1, 3], { lost: 1, doubled: 0, disordered: 0 }],
  ['entries at the end that never arrive', [1], { lost: 2, doubled: 0, disordered: 0 }],
  ['an entry that arrives twice', [1, 2, 2, 3], { lost: 0, doubled: 1, disordered: 0 }],
  ['a replay from the start', [1, 2, 1, 2, 3], { lost: 0, doubled: 2, disordered: 1 }],
  ['entries out of order', [1, 3, 2], { lost: 0, doubled: 0, disordered: 1 }],
])('the check counts %s', (_, received, faults) => {
  expect(countFaults(received, [1, 2, 3])).toEqual(faults)
})

it('the check accepts an entry whose acknowledgement was lost', () => {
  expect(countFaults([1, 2, 3], [1, 3])).toEqual({ lost: 0, doubled: 0, disordered: 0 })
})
