import { describe, expect, test } from 'vitest'
import { ratios, tableOf, type Measured } from './row.ts'

const row = { label: 'page of 50', peer: 'Mastra', asked: 2 }

describe('the table of the comparison with peers', () => {
  test('compares the rounds in pairs, above 1 if ours is better', () => {
    expect(ratios([10, 30], [5, 10], '/s')).toEqual([2, 3])
    expect(ratios([10, 30], [5, 90], 'ms')).toEqual([0.5, 3])
  })

  test.each<[string, Measured, string[]]>([
    [
      'a reached target',
      { ...row, unit: 'ms', ours: [1, 1, 1], theirs: [2, 3, 4] },
      ['1.00', '3.00', '3.00×', '2.00 to 4.00', 'ok'],
    ],
    ['a missed target', { ...row, unit: '/s', ours: [100], theirs: [80] }, ['100', '80.0', '1.25×', 'below target']],
    ['a row that could not run', { ...row, unit: '/s', failure: 'no route' }, ['≥ 2×', 'not run: no route']],
  ])('prints %s', (_, measured, cells) => {
    const line = tableOf([measured]).at(-1)!
    for (const cell of [...cells, row.label, row.peer]) expect(line).toContain(cell)
  })
})
