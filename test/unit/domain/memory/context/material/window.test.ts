// The start of the window of recent turns: it stays at the first turn while all turns fit, then advances in steps.

import { describe, expect, it } from 'vitest'
import { MIN_FILL, windowStart } from '../../../../../../src/domain/memory/context/material/window.ts'

/** Returns the start of the window for turns at the positions 1, 2, 3 …, of which `space` turns fit. */
const startOf = (turns: number, space: number, more: Partial<Parameters<typeof windowStart>[0]> = {}) =>
  windowStart({
    positions: Array.from({ length: turns }, (_, n) => n + 1),
    complete: true,
    turns: null,
    inSteps: true,
    fill: (start) => (turns - start) / space,
    ...more,
  })

describe('the window', () => {
  it('contains all turns while they fit', () => {
    for (let turns = 0; turns <= 30; turns++) expect(startOf(turns, 30)).toBe(0)
  })

  it('advances in steps once the turns no longer fit, and fills at least MIN_FILL of the space', () => {
    let moves = 0
    let last = 0
    for (let turns = 1; turns <= 3_000; turns++) {
      const start = startOf(turns, 30)
      expect(start).toBeGreaterThanOrEqual(last)
      expect(turns - start).toBeLessThanOrEqual(30)
      if (turns > 30) expect(turns - start).toBeGreaterThanOrEqual(Math.floor(30 * MIN_FILL))
      if (start !== last) moves += 1
      last = start
    }
    // A step is about 16 turns.
    expect(moves).toBeLessThan(3_000 / 12)
  })

  it('contains at least the requested number of turns, if that many exist, and at most max(0, 2 * requested - 1)', () => {
    for (let turns = 0; turns <= 500; turns++) {
      for (const requested of [0, 1, 2, 3, 10, 20]) {
        const count = turns - startOf(turns, 1_000, { turns: requested })
        expect(count).toBeGreaterThanOrEqual(Math.min(turns, requested))
        expect(count).toBeLessThanOrEqual(Math.max(0, 2 * requested - 1))
      }
    }
  })

  it('contains as many turns as fit, at most the requested number, if it does not advance in steps', () => {
    expect(startOf(100, 30, { inSteps: false })).toBe(70)
    expect(startOf(100, 30, { inSteps: false, turns: 8 })).toBe(92)
  })

  it('does not depend on how far back the turns were read', () => {
    const all = startOf(100, 30)
    const positions = Array.from({ length: 40 }, (_, n) => n + 61)
    expect(startOf(40, 30, { positions, complete: false }) + 60).toBe(all)
  })

  it('is empty if nothing fits', () => {
    expect(startOf(5, 0.5)).toBe(5)
  })
})
