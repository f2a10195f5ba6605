// Thresholds of automatic work: the number of due runs for a number of turns.

import { describe, expect, it } from 'vitest'
import { runsDue } from '../../../../src/domain/kernel/automatic-thresholds.ts'

describe('automatic thresholds', () => {
  it.each([
    // turns, done, every, runs
    [0, 0, 10, 0],
    [9, 0, 10, 0],
    [10, 0, 10, 1],
    [19, 10, 10, 0],
    [20, 10, 10, 1],
    [1600, 0, 10, 160],
    [5, 0, 1, 5],
    [7, 0, 0, 0],
    // The progress was stored under another threshold, so it need not be a multiple of this one.
    [34, 30, 10, 0],
    [40, 30, 10, 1],
    [30, 30, 20, 0],
    [40, 30, 20, 1],
    [30, 40, 10, 0],
  ])('with %i turns, %i of them processed, and a run every %i turns make %i runs due', (turns, done, every, runs) => {
    expect(runsDue(turns, done, every)).toBe(runs)
  })

  it('account for each turn once, however often they are checked', () => {
    let done = 0
    let runs = 0
    for (let turns = 0; turns <= 1600; turns += 1 + ((turns * 7) % 13)) {
      for (let due = runsDue(turns, done, 10); due > 0; due--) {
        done += 10
        runs++
      }
      expect(runs).toBe(Math.floor(turns / 10))
    }
  })
})
