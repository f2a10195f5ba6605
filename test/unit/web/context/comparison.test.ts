// The difference between two contexts.

import { describe, expect, it } from 'vitest'
import type { ContextItem } from '../../../../src/client/index.ts'
import { compare, type Comparison } from '../../../../src/web/context/comparison.ts'
import { item, omitted } from './items.ts'

const none: Pick<Comparison, 'gained' | 'lost' | 'moved'> = { gained: [], lost: [], moved: [] }

const CASES: [string, ContextItem[], ContextItem[], Partial<Comparison>][] = [
  ['two empty contexts', [], [], { kinds: [], ...none }],
  [
    'equal contexts',
    [item('RECENT', 5, 't1')],
    [item('RECENT', 5, 't1')],
    { kinds: [{ kind: 'RECENT', before: 5, now: 5 }], ...none },
  ],
  [
    'turns that a summary replaces',
    [item('RECENT', 5, 't1'), item('RECENT', 6, 't2'), item('RECENT', 7, 't3')],
    [item('SUMMARY', 4, 's1'), item('RECENT', 7, 't3')],
    {
      kinds: [
        { kind: 'SUMMARY', before: 0, now: 4 },
        { kind: 'RECENT', before: 18, now: 7 },
      ],
      gained: [{ id: 's1', kind: 'SUMMARY' }],
      lost: [
        { id: 't1', kind: 'RECENT' },
        { id: 't2', kind: 'RECENT' },
      ],
      moved: [],
    },
  ],
  [
    'a turn in another section',
    [item('RECENT', 5, 't1')],
    [item('RECALLED', 6, 't1', 't0')],
    { gained: [{ id: 't0', kind: 'RECALLED' }], lost: [], moved: [{ id: 't1', kind: 'RECALLED', from: 'RECENT' }] },
  ],
  [
    'a source that was left out before',
    [omitted('FACT', 3, 'f1')],
    [item('FACT', 3, 'f1')],
    { kinds: [{ kind: 'FACT', before: 0, now: 3 }], gained: [{ id: 'f1', kind: 'FACT' }], lost: [], moved: [] },
  ],
  [
    'a turn that is quoted again as the turn to answer',
    [item('RECENT', 5, 't1')],
    [item('RECENT', 5, 't1'), item('ANSWERED', 4, 't1')],
    none,
  ],
]

describe('compare', () => {
  it.each(CASES)('compares %s', (_, before, now, expected) =>
    expect(compare({ items: before }, { items: now })).toMatchObject(expected),
  )
})
