// Start of the window: unchanged from call to call until the turns no longer fit.

import { describe, expect, it } from 'vitest'
import { LEAST, windowStart } from '../../../src/domain/context/window.ts'

/** Turns of one token each at positions 1, 2, 3 …, of which `space` fit. */
const startOf = (turns: number, space: number, more: Partial<Parameters<typeof windowStart>[0]> = {}) =>
  windowStart({
    rootSeqs: Array.from({ length: turns }, (_, n) => n + 1),
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

  it('advances in steps once they do not fit, and keeps at least a third', () => {
    let moved = 0
    let last = 0
    for (let turns = 1; turns <= 3_000; turns++) {
      const start = startOf(turns, 30)
      expect(start).toBeGreaterThanOrEqual(last)
      expect(turns - start).toBeLessThanOrEqual(30)
      if (turns > 30) expect(turns - start).toBeGreaterThanOrEqual(Math.floor(30 * LEAST))
      if (start !== last) moved += 1
      last = start
    }
    // A step is about 16 turns.
    expect(moved).toBeLessThan(3_000 / 12)
  })

  it('contains at least the requested turns, and fewer than twice as many', () => {
    for (let turns = 0; turns <= 500; turns++) {
      for (const asked of [0, 1, 2, 3, 10, 20]) {
        const held = turns - startOf(turns, 1_000, { turns: asked })
        expect(held).toBeGreaterThanOrEqual(Math.min(turns, asked))
        expect(held).toBeLessThanOrEqual(Math.max(0, 2 * asked - 1))
      }
    }
  })

  it('contains exactly the turns that fit or were requested if it must not advance in steps', () => {
    expect(startOf(100, 30, { inSteps: false })).toBe(70)
    expect(startOf(100, 30, { inSteps: false, turns: 8 })).toBe(92)
  })

  it('does not depend on how far back the turns were read', () => {
    const all = startOf(100, 30)
    const rootSeqs = Array.from({ length: 40 }, (_, n) => n + 61)
    expect(startOf(40, 30, { rootSeqs, complete: false }) + 60).toBe(all)
  })

  it('is empty if nothing fits', () => {
    expect(startOf(5, 0.5)).toBe(5)
  })
})
