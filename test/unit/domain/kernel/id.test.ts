// Ids of the stored types: their prefix, randomness and order, and the rejection of malformed ids. No database.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { kindOf, newId, type Kind } from '../../../../src/domain/kernel/id.ts'

describe.each<[Kind, string]>([
  ['conversation', 'conv_'],
  ['turn', 'turn_'],
])('the id of a %s', (kind, prefix) => {
  it('starts with the prefix of its type', () => {
    const id = newId(kind)
    expect(id).toMatch(new RegExp(`^${prefix}[0-9A-HJKMNP-TV-Z]{26}$`))
    expect(kindOf(id)).toBe(kind)
  })

  describe('within one millisecond', () => {
    beforeEach(() => vi.useFakeTimers({ now: 1_700_000_000_000 }))
    afterEach(() => vi.useRealTimers())

    it('has 80 random bits: 16 characters of which each takes every value', () => {
      const randoms = Array.from({ length: 10_000 }, () => newId(kind).slice(-16))
      for (let index = 0; index < 16; index++) {
        expect(new Set(randoms.map((random) => random[index])).size).toBe(32)
      }
      // With 160,000 characters of 32 values, each value is expected 5,000 times, with a standard deviation of 70.
      const counts = new Map<string, number>()
      for (const character of randoms.join('')) counts.set(character, (counts.get(character) ?? 0) + 1)
      for (const count of counts.values()) expect(Math.abs(count - 5_000)).toBeLessThan(7 * 70)
    })

    it('is not close to the previous id', () => {
      const ids = Array.from({ length: 1_000 }, () => newId(kind))
      expect(new Set(ids.map((each) => each.slice(0, -4))).size).toBe(ids.length)
      expect(ids.toSorted()).not.toEqual(ids)
    })
  })

  it('sorts after ids of earlier milliseconds', () => {
    vi.useFakeTimers({ now: 1_700_000_000_000 })
    const ids = Array.from({ length: 100 }, () => {
      vi.advanceTimersByTime(1)
      return newId(kind)
    })
    vi.useRealTimers()
    expect(ids.toSorted()).toEqual(ids)
  })
})

describe('an id', () => {
  const ulid = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  it.each([
    '',
    'conv_',
    'turn_',
    ulid,
    `room_${ulid}`,
    `CONV_${ulid}`,
    `conv_${ulid.toLowerCase()}`,
    `conv_${ulid.slice(1)}`,
    `conv_${ulid}0`,
    `conv_${ulid}\n`,
    ` conv_${ulid}`,
    `conv_turn_${ulid}`,
    `conv_${'I'.repeat(26)}`,
    `conv_${'U'.repeat(26)}`,
    'conv_\0',
    'toString',
    '__proto__',
    'x'.repeat(100_000),
  ])('is rejected if it is malformed: %#', (id) => {
    expect(kindOf(id)).toBeNull()
  })
})
