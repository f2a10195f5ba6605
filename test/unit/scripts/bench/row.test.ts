import { describe, expect, test, vi } from 'vitest'
import { measure, measureParts, ratios, tableOf, type Measured } from '../../../../scripts/bench/row.ts'

const row = { label: 'page of 50', against: 'Mastra', asked: 2 }
const headings = { against: 'peer', theirs: 'theirs' }

test('ratios returns the ratio of each pair of rounds: above 1 if ours is better', () => {
  expect(ratios([10, 30], [5, 10], '/s')).toEqual([2, 3])
  expect(ratios([10, 30], [5, 90], 'ms')).toEqual([0.5, 3])
})

describe('the table of a comparison', () => {
  test.each<[string, Measured, string[]]>([
    [
      'the verdict "ok" for a reached target',
      { ...row, unit: 'ms', ours: [1, 1, 1], theirs: [2, 3, 4] },
      ['1.00', '3.00', '3.00×', '2.00 to 4.00', 'ok'],
    ],
    [
      'the verdict "below target" for a missed target',
      { ...row, unit: '/s', ours: [100], theirs: [80] },
      ['100', '80.0', '1.25×', 'below target'],
    ],
    ['the reason why a row could not run', { ...row, unit: '/s', failure: 'no route' }, ['≥ 2×', 'not run: no route']],
  ])('contains %s', (_, measured, cells) => {
    const line = tableOf([measured], headings).at(-1)!
    for (const cell of [...cells, row.label, row.against]) expect(line).toContain(cell)
  })

  test('contains no verdict for a row without a target', () => {
    const [header, , line] = tableOf([{ ...row, asked: null, unit: 'ms', ours: [4], theirs: [2] }], headings)
    expect(header).toContain('peer')
    expect(line).toMatch(/ms\s+0\.50×\s+0\.50 to 0\.50$/)
  })
})

describe('measuring a row', () => {
  test('runs five rounds of each side after a round of warm-up', async () => {
    const [ours, theirs] = [vi.fn(async () => 1), vi.fn(async () => 2)]
    const measured = await measure({ ...row, unit: 'ms', ours, theirs }, () => {})
    expect(measured).toMatchObject({ ours: [1, 1, 1, 1, 1], theirs: [2, 2, 2, 2, 2] })
    expect([ours, theirs].map(({ mock }) => mock.calls.length)).toEqual([6, 6])
  })

  test('reports the failure, and runs neither side, if the sides do different work', async () => {
    const side = vi.fn(async () => 1)
    const check = async () => {
      throw new Error('10 rows against 9')
    }
    const measured = await measure({ ...row, unit: 'ms', check, ours: side, theirs: side }, () => {})
    expect(measured).toMatchObject({ failure: '10 rows against 9' })
    expect(side).not.toHaveBeenCalled()
  })
})

describe('measuring parts', () => {
  test('reports a part that cannot start, and measures the next part', async () => {
    const measured = { ...row, unit: 'ms', ours: [1], theirs: [1] } as const
    const parts: Parameters<typeof measureParts>[0] = [
      ['sockets', () => Promise.reject(new Error('no port'))],
      ['pages', async () => [{ ...measured, ours: [1], theirs: [1] }]],
    ]
    expect(await measureParts(parts, () => {})).toEqual([
      { label: 'sockets', against: '', asked: null, unit: '', failure: 'no port' },
      measured,
    ])
  })
})
