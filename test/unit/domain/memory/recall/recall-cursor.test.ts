// Cursors of recall: they contain the time and the keys of the hits that were read, and no text of the recall.

import { describe, expect, it } from 'vitest'
import {
  decodePosition,
  encodePosition,
  hitKey,
  MAX_PAGED_HITS,
  recallIdentity,
} from '../../../../../src/domain/memory/recall/recall-cursor.ts'

const identity = recallIdentity(['tenant', 'ann', 'query'])
const keys = (count: number) => Array.from({ length: count }, (_, i) => hitKey(`hit ${i}`))

describe('a cursor of recall', () => {
  it.each([0, 1, 10, MAX_PAGED_HITS - 1])('contains the time and the keys of %d hits', (count) => {
    const position = { readAt: Date.UTC(2026, 10, 22), read: keys(count) }
    expect(decodePosition(identity, encodePosition(identity, position))).toEqual(position)
  })

  it('contains no text of the query, the viewer or the hits', () => {
    const cursor = encodePosition(identity, { readAt: 0, read: keys(3) })
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/tenant|ann|query|hit/)
  })

  it('is refused if its time is beyond the year 9999', () => {
    const cursor = (readAt: number) => encodePosition(identity, { readAt, read: [] })
    expect(decodePosition(identity, cursor(Date.UTC(9999, 11, 31)))).toMatchObject({ read: [] })
    expect(() => decodePosition(identity, cursor(2 ** 48 - 1))).toThrow('after: is not a cursor of recall')
  })

  it(`is refused if it follows ${MAX_PAGED_HITS} hits or more`, () => {
    const cursor = (count: number) => encodePosition(identity, { readAt: 0, read: keys(count) })
    expect(() => decodePosition(identity, cursor(MAX_PAGED_HITS))).toThrow('after: follows 1,000 hits')
    expect(() => decodePosition(identity, cursor(MAX_PAGED_HITS + 1))).toThrow('after: is not a cursor of recall')
  })
})
