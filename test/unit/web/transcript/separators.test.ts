// Separators, the place of the unread turns, and read marks.

import { describe, expect, it } from 'vitest'
import { firstUnread, readersByPosition, separatorOf } from '../../../../src/web/transcript/separators.ts'
import { turnAt } from '../turns.ts'

const NOW = new Date(2026, 2, 5, 12, 0)
/** A time of the local time zone: days begin at midnight there. */
const at = (day: number, hour: number, minute = 0) => new Date(2026, 2, day, hour, minute).toISOString()

describe('a separator', () => {
  const previous = turnAt(1, { createdAt: at(5, 9) })

  it.each([
    ['the first turn', null, turnAt(1, { createdAt: at(5, 9) }), { day: 'Today', pause: null, isContinued: false }],
    [
      'a turn of the same author soon after',
      previous,
      turnAt(2, { createdAt: at(5, 9, 5) }),
      { day: null, pause: null, isContinued: true },
    ],
    [
      'a turn after more than five minutes',
      previous,
      turnAt(2, { createdAt: at(5, 9, 6) }),
      { day: null, pause: null, isContinued: false },
    ],
    [
      'a turn of another author',
      previous,
      turnAt(2, { createdAt: at(5, 9), actor: 'bob' }),
      { day: null, pause: null, isContinued: false },
    ],
    [
      'a turn for other readers',
      previous,
      turnAt(2, { createdAt: at(5, 9), audience: ['bob'] }),
      { day: null, pause: null, isContinued: false },
    ],
    [
      'a reply',
      previous,
      turnAt(2, { createdAt: at(5, 9), replyTo: { id: 'turn_0' } }),
      { day: null, pause: null, isContinued: false },
    ],
    [
      'a turn after an hour',
      previous,
      turnAt(2, { createdAt: at(5, 10) }),
      { day: null, pause: 1, isContinued: false },
    ],
    [
      'a turn after two and a half hours',
      previous,
      turnAt(2, { createdAt: at(5, 11, 30) }),
      { day: null, pause: 2, isContinued: false },
    ],
    [
      'the first turn of a day',
      turnAt(1, { createdAt: at(4, 23, 58) }),
      turnAt(2, { createdAt: at(5, 0, 1) }),
      { day: 'Today', pause: null, isContinued: false },
    ],
    [
      'a turn of yesterday',
      turnAt(1, { createdAt: at(3, 9) }),
      turnAt(2, { createdAt: at(4, 9) }),
      { day: 'Yesterday', pause: null, isContinued: false },
    ],
  ])('above %s', (_, before, turn, expected) => {
    expect(separatorOf(before, turn, NOW)).toEqual(expected)
  })
})

describe('the unread turns', () => {
  const turns = [turnAt(3), turnAt(5, { actor: 'bob' }), turnAt(7), turnAt(9, { actor: 'bob' })]

  it.each([
    ['begin with the first turn of others after the mark', 5, 9, false, 9],
    ['do not begin with a turn of the viewer', 6, 9, false, 9],
    ['begin nowhere if all is read', 9, 9, false, null],
    ['begin nowhere if nothing was ever read', 0, 9, false, null],
    ['do not begin with a turn that arrived later', 7, 8, false, null],
    ['begin nowhere while older ones are not loaded', 2, 9, true, null],
    ['begin with the first one loaded if none is older', 2, 9, false, 5],
    ['begin with the first one once a read one is loaded', 3, 9, true, 5],
  ])('%s', (_, readSeq, lastSeq, hasOlder, expected) => {
    expect(firstUnread(turns, hasOlder, { viewer: 'ada', readSeq, lastSeq })).toBe(expected)
  })
})

it('read marks are at the newest turn that each of the others has read', () => {
  const turns = [turnAt(3), turnAt(5), turnAt(7)]
  const reader = (actor: string, lastReadSeq: number, leftAt: string | null = null) => ({ actor, lastReadSeq, leftAt })
  const readers = readersByPosition(
    turns,
    [
      reader('ada', 7),
      reader('bob', 6),
      reader('cyn', 99),
      reader('dan', 0),
      reader('eve', 1),
      reader('fay', 7, at(5, 9)),
    ],
    'ada',
  )
  expect([...readers]).toEqual([
    [5, ['bob']],
    [7, ['cyn']],
  ])
})
