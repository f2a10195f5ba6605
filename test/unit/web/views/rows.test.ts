// The rows of another participant's view, beside one's own.

import { describe, expect, it } from 'vitest'
import { rowsOf } from '../../../../src/web/views/rows.ts'
import { turnAt } from '../turns.ts'

const turns = (...positions: number[]) => positions.map((position) => turnAt(position))
const signs = (theirs: number[], own: number[], from = 0, through: number | null = 9) =>
  rowsOf(turns(...theirs), turns(...own), { from, through }).map((row) =>
    row.kind === 'hidden'
      ? `${row.turn.position} hidden`
      : row.isExtra
        ? `${row.turn.position} extra`
        : `${row.turn.position}`,
  )

describe('the rows of a view', () => {
  it.each([
    ['are equal for equal views', [1, 2, 3], [1, 2, 3], 0, ['1', '2', '3']],
    [
      'name the turns that the other one does not see, in their places',
      [1, 4],
      [1, 2, 3, 4],
      0,
      ['1', '2 hidden', '3 hidden', '4'],
    ],
    ['mark the turns that only the other one sees', [1, 2], [1], 0, ['1', '2 extra']],
    ['claim nothing about turns before the first one that they have loaded', [5], [1, 4, 5], 5, ['5']],
    ['claim nothing about turns before the first own one that is loaded', [1, 2, 3], [3], 0, ['1', '2', '3']],
    ['are all hidden in a view that sees nothing', [], [1, 2], 0, ['1 hidden', '2 hidden']],
  ])('%s', (_, theirs, own, from, expected) => {
    expect(signs(theirs, own, from)).toEqual(expected)
  })

  it.each([
    ['hides nothing that may still arrive', [1, 2], [1, 2, 3], 2, ['1', '2']],
    ['marks nothing that may still arrive', [1, 2, 3], [1, 2], 2, ['1', '2', '3']],
    ['compares what precedes a turn that both have', [1, 4], [1, 3, 4, 5], 1, ['1', '3 hidden', '4']],
    ['compares nothing while a view is not current', [1, 2], [1, 3], null, ['1', '2']],
  ])('%s', (_, theirs, own, through, expected) => {
    expect(signs(theirs, own, 0, through)).toEqual(expected)
  })
})
