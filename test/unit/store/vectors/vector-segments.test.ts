// The choice of segments to search, to merge and to drop.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  coverOf,
  nextSegment,
  unusedSegments,
  type VectorSegment,
} from '../../../../src/store/vectors/vector-segments.ts'

const segment = (from: number, to: number, valid = true): VectorSegment => ({ from, to, valid, rows: to - from })
const [a, b, ab] = [segment(0, 10), segment(10, 20), segment(0, 20)]

describe('the cover of a search', () => {
  it.each([
    ['no segments', [], [], [{ from: 0, to: Infinity }]],
    ['adjacent segments', [b, a], [a, b], [{ from: 20, to: Infinity }]],
    ['a merge and the segments that it replaces', [a, ab, b], [ab], [{ from: 20, to: Infinity }]],
    ['an unfinished merge', [a, { ...ab, valid: false }], [a], [{ from: 10, to: Infinity }]],
    [
      'a missing segment',
      [b],
      [b],
      [
        { from: 0, to: 10 },
        { from: 20, to: Infinity },
      ],
    ],
  ])('of %s', (_, segments, chosen, gaps) => {
    expect(coverOf(segments)).toEqual({ segments: chosen, gaps })
    expect(unusedSegments(segments)).toEqual(segments.filter((each) => !chosen.includes(each)))
  })

  it('contains every number once', () => {
    const range = fc.tuple(fc.nat(50), fc.integer({ min: 1, max: 50 }), fc.boolean())
    fc.assert(
      fc.property(fc.array(range), (ranges) => {
        const { segments, gaps } = coverOf(ranges.map(([from, size, valid]) => segment(from, from + size, valid)))
        const all = [...segments, ...gaps].toSorted((x, y) => x.from - y.from)
        expect(all[0]!.from).toBe(0)
        expect(all.at(-1)!.to).toBe(Infinity)
        for (const [i, { to }] of all.slice(0, -1).entries()) expect(all[i + 1]!.from).toBe(to)
      }),
    )
  })
})

it('the next segment merges all segments after a gap', () => {
  expect(nextSegment(coverOf([segment(0, 90_000), segment(91_000, 99_000)]), 10, 99_010)).toEqual({
    from: 90_000,
    to: 99_010,
  })
})

it('merges keep the number of segments small, and index each vector at most 10 times', () => {
  let segments: VectorSegment[] = []
  let [end, built, most] = [0, 0, 0]
  for (; end < 1_000_000;) {
    end += 10_000
    const next = nextSegment(coverOf(segments), 10_000, end)
    built += next.to - next.from
    segments = coverOf([...segments, segment(next.from, next.to)]).segments
    most = Math.max(most, segments.length)
  }
  expect(most).toBeLessThanOrEqual(5)
  expect(built / end).toBeLessThanOrEqual(10)
})
