// The numbers of entries: gaps, repetitions, and what the page says about them.

import { describe, expect, it } from 'vitest'
import {
  arrived,
  comparisonText,
  rangesOf,
  rangeText,
  resumptionText,
  skipped,
  startOrder,
  verdictOf,
} from '../../../../src/web/journal/order.ts'

const after = (start: number, seqs: number[]) => seqs.reduce(arrived, startOrder(start))

describe('arrived', () => {
  it.each([
    { name: 'in order', start: 4, seqs: [5, 6, 7], count: 3, last: 7, absent: [], unordered: [] },
    { name: 'a gap at the start', start: 4, seqs: [7], count: 1, last: 7, absent: [[5, 6]], unordered: [] },
    {
      name: 'two gaps',
      start: 0,
      seqs: [1, 3, 6],
      count: 3,
      last: 6,
      absent: [
        [2, 2],
        [4, 5],
      ],
      unordered: [],
    },
    { name: 'a repetition', start: 0, seqs: [1, 2, 2, 3], count: 3, last: 3, absent: [], unordered: [2] },
    { name: 'out of order', start: 0, seqs: [1, 3, 2], count: 2, last: 3, absent: [[2, 2]], unordered: [2] },
    { name: 'an entry before the start', start: 9, seqs: [9, 10], count: 1, last: 10, absent: [], unordered: [9] },
  ])('$name', ({ start, seqs, count, last, absent, unordered }) => {
    const order = after(start, seqs)
    expect(order).toMatchObject({ count, last, unordered })
    expect(order.absent.map(({ from, to }) => [from, to])).toEqual(absent)
    expect(order.absentCount).toBe(absent.reduce((sum, [from, to]) => sum + to! - from! + 1, 0))
  })

  it('keeps a limited number of gaps, and counts all', () => {
    const order = after(
      0,
      Array.from({ length: 100 }, (_, index) => 2 * index + 2),
    )
    expect(order.absentCount).toBe(100)
    expect(order.absent).toHaveLength(50)
    expect(order.absent.at(-1)).toEqual({ from: 199, to: 199 })
  })

  it('does not count entries that the server skipped', () => {
    const order = arrived(skipped(after(0, [1, 2]), 50), 51)
    expect(order).toMatchObject({ last: 51, absentCount: 0, count: 3, skipped: [{ from: 3, to: 50 }] })
    expect(skipped(order, 3)).toBe(order)
  })
})

it.each([
  { seqs: [], text: '' },
  { seqs: [3], text: '3' },
  { seqs: [2, 3, 4, 7], text: '2–4, 7' },
  { seqs: [1, 3, 5, 7, 9, 11, 13], text: '1, 3, 5, 7, 9 and 2 more ranges' },
])('writes $seqs as "$text"', ({ seqs, text }) => expect(rangeText(rangesOf(seqs))).toBe(text))

it.each([
  { start: 41, seqs: [], isGood: true, text: /No entry after 41/ },
  { start: 41, seqs: [42], isGood: true, text: /^Entry 42: in order, each once, without a gap\.$/ },
  { start: 41, seqs: [42, 43], isGood: true, text: /^Entries 42–43: in order/ },
  {
    start: 41,
    seqs: [42, 44],
    isGood: true,
    text: /2 arrived.*1 of the numbers are absent \(43\).*outside of your view/,
  },
  { start: 41, seqs: [42, 42], isGood: false, text: /Out of order or repeated: 42/ },
])('the verdict on $seqs after $start', ({ start, seqs, isGood, text }) => {
  const verdict = verdictOf(after(start, seqs))
  expect(verdict.isGood).toBe(isGood)
  expect(verdict.text).toMatch(text)
})

it.each([
  {
    name: 'between entries',
    order: arrived(skipped(after(0, [1, 2]), 50), 51),
    text: 'Entries 1–51: 3 arrived, in order, each once. The server skipped 3–50, because the page was too far behind.',
  },
  {
    name: 'before the first entry',
    order: skipped(after(41, []), 50),
    text: 'No entry after 41 has arrived yet. The server skipped 42–50, because the page was too far behind.',
  },
  {
    name: 'beside absent numbers',
    order: arrived(skipped(after(0, [1, 3]), 5), 6),
    text: /^Entries 1–6: 3 arrived.*1 of the numbers are absent \(2\).*The server skipped 4–5, because/,
  },
])('the verdict on entries that were skipped $name', ({ order, text }) => {
  const verdict = verdictOf(order)
  expect(verdict.isGood).toBe(false)
  expect(verdict.text).toEqual(typeof text === 'string' ? text : expect.stringMatching(text))
})

it.each([
  { lost: 41, head: 41, seqs: [], text: /No entry was written meanwhile/ },
  { lost: 41, head: 44, seqs: [42, 43, 44], text: /Entries 42–44 arrived meanwhile; nothing is missing/ },
  { lost: 41, head: 42, seqs: [42], text: /Entry 42 arrived meanwhile; nothing is missing/ },
  { lost: 41, head: 44, seqs: [42, 44], text: /Entries 42, 44 arrived meanwhile\. 1 number is absent/ },
  { lost: 41, head: 43, seqs: [], text: /No entry arrived\. 2 numbers are absent/ },
  {
    lost: 41,
    head: null,
    seqs: [],
    text: /No entry arrived\. The newest entry could not be read, so more may be missing/,
  },
])('resumed after $lost up to $head with $seqs', (resumption) =>
  expect(resumptionText({ ...resumption, skipped: [] })).toMatch(resumption.text),
)

it.each([
  {
    head: 44,
    seqs: [44],
    text: 'Entry 44 arrived meanwhile. The server skipped 42–43, because the page was too far behind.',
  },
  {
    head: 45,
    seqs: [44],
    text: /^Entry 44 arrived meanwhile\. The server skipped 42–43, .* 1 number is absent\. Entries outside of your view/,
  },
])('resumed up to $head with $seqs and skipped entries', ({ head, seqs, text }) => {
  const start = 'Resumed after 41. '
  const told = resumptionText({ lost: 41, head, seqs, skipped: [{ from: 42, to: 43 }] })
  expect(told.startsWith(start)).toBe(true)
  expect(told.slice(start.length)).toEqual(typeof text === 'string' ? text : expect.stringMatching(text))
})

it.each([
  { first: [1, 2, 4], second: [1, 2, 4], isGood: true, text: /the same 3 entries \(1 to 4\): nothing was lost/ },
  { first: [1, 4], second: [1, 2, 3, 4], isGood: false, text: /also has 2–3/ },
  { first: [1, 2, 4], second: [1, 4], isGood: true, text: /lacks 2: deleted since/ },
])('compares $first with $second', ({ first, second, isGood, text }) => {
  const verdict = comparisonText(first, second)
  expect(verdict.isGood).toBe(isGood)
  expect(verdict.text).toMatch(text)
})
