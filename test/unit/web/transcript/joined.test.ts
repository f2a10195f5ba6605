// A window of old turns that meets the live end, and turns found by position.

import { describe, expect, it } from 'vitest'
import { changed, indexAt, joined, nearestTo, reaches } from '../../../../src/web/transcript/joined.ts'
import { turnAt } from '../turns.ts'

const turns = (...positions: number[]) => positions.map((position) => turnAt(position))
const positions = (list: readonly { position: number }[]) => list.map(({ position }) => position)

describe('old turns', () => {
  it.each([
    ['reach the live end if they overlap it', [1, 2, 3], [3, 4], true],
    ['do not reach it if turns may be between them', [1, 2], [3, 4], false],
    ['do not reach an end that is not loaded', [1, 2], [], false],
    ['reach nothing if there are none', [], [3], false],
  ])('%s', (_, past, live, expected) => {
    expect(reaches(turns(...past), turns(...live))).toBe(expected)
  })

  it('are followed by the live end once they reach it, each turn once and in its live state', () => {
    const live = [turnAt(3, { text: 'newer' }), turnAt(4)]
    const all = joined(turns(1, 2, 3, 4), live)
    expect(positions(all)).toEqual([1, 2, 3, 4])
    expect(all[2]!.text).toBe('newer')
  })

  it('stand alone before that', () => {
    expect(positions(joined(turns(1, 2), turns(5, 6)))).toEqual([1, 2])
  })
})

describe('the index of a turn', () => {
  it.each([
    ['the first', 2, 0],
    ['one in the middle', 5, 1],
    ['the last', 9, 2],
    ['before the first', 1, null],
    ['between two', 6, null],
    ['after the last', 10, null],
  ])('by its position: %s', (_, position, expected) => {
    expect(indexAt(turns(2, 5, 9), position)).toBe(expected)
  })

  it('is null without turns', () => {
    expect(indexAt([], 1)).toBeNull()
  })
})

describe('the nearest turn', () => {
  it.each([
    ['at the position', 5, 1],
    ['before all turns', 1, 0],
    ['after all turns', 12, 2],
    ['nearer to the earlier one', 6, 1],
    ['nearer to the later one', 8, 2],
    ['in the middle, the later one', 7, 2],
  ])('%s', (_, position, expected) => {
    expect(nearestTo(turns(2, 5, 9), position)).toBe(expected)
  })

  it('is null without turns', () => {
    expect(nearestTo([], 1)).toBeNull()
  })
})

describe('changes of old turns', () => {
  it('replace turns by newer states at the same position, and nothing else', () => {
    const changes = [turnAt(2, { seq: 7, text: 'edited' }), turnAt(5, { pinned: true }), turnAt(8, { text: 'other' })]
    const shown = changed(turns(2, 5, 9), new Map(changes.map((each) => [each.position, each])))
    expect(shown.map(({ position, text, pinned }) => [position, text, pinned])).toEqual([
      [2, 'edited', false],
      [5, '5', true],
      [9, '9', false],
    ])
  })

  it('do not replace a newer state', () => {
    const newer = [turnAt(2, { seq: 7, text: 'newer' })]
    expect(changed(newer, new Map([[2, turnAt(2, { text: 'older' })]]))[0]!.text).toBe('newer')
  })

  it('keep the list if they are about other turns', () => {
    const shown = turns(2, 5)
    expect(changed(shown, new Map([[9, turnAt(9)]]))).toBe(shown)
  })
})
