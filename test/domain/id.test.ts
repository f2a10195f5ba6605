// Typed ids. No database.

import { describe, expect, it } from 'vitest'
import { kindOf, newId, type Kind } from '../../src/domain/id.ts'

describe.each<[Kind, string]>([
  ['conversation', 'conv_'],
  ['turn', 'turn_'],
])('the id of a %s', (kind, prefix) => {
  it('names its type', () => {
    const id = newId(kind)
    expect(id).toMatch(new RegExp(`^${prefix}[0-9A-HJKMNP-TV-Z]{26}$`))
    expect(kindOf(id)).toBe(kind)
  })

  it('is new each time and sorts after earlier ids', () => {
    const ids = Array.from({ length: 10_000 }, () => newId(kind))
    expect(new Set(ids).size).toBe(ids.length)
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
