// Time expressions, and the calendar times that they name relative to the time of the turn.

import { describe, expect, it } from 'vitest'
import { readTime } from '../../../../src/providers/rules/times.ts'

/** A Monday. */
const TURN_TIME = new Date('2023-05-08T23:59:00Z')
const when = (text: string, isPast: boolean) => readTime(text, TURN_TIME, isPast)?.when ?? null

describe('a time expression', () => {
  it.each([
    ['yesterday', 'on 2023-05-07'],
    ['last night', 'on 2023-05-07'],
    ['the day before yesterday', 'on 2023-05-06'],
    ['this morning', 'on 2023-05-08'],
    ['three days ago', 'on 2023-05-05'],
    ['last Friday', 'on 2023-05-05'],
    ['last Mon', 'on 2023-05-01'],
    ['on Sunday', 'on 2023-05-07'],
    ['last week', 'in the week of 2023-05-01'],
    ['two weeks ago', 'in the week of 2023-04-24'],
    ['last weekend', 'on the weekend of 2023-05-06'],
    ['last month', 'in April 2023'],
    ['five months ago', 'in December 2022'],
    ['last year', 'in 2022'],
    ['ten years ago', 'in 2013'],
    ['in 2019', 'in 2019'],
    ['in March 2020', 'in March 2020'],
    ['on 3 May', 'on 2023-05-03'],
    ['on June 3rd', 'on 2022-06-03'],
    ['on December 24, 2021', 'on 2021-12-24'],
    ['on 2021-12-24', 'on 2021-12-24'],
  ])('in the past: %s is %s', (text, expected) => {
    expect(when(`we met ${text}`, true)).toBe(expected)
    expect(readTime(`we met ${text} at noon`, TURN_TIME, true)).toMatchObject({
      rest: 'we met at noon',
      isFuture: false,
    })
  })

  it.each([
    ['tomorrow', 'on 2023-05-09'],
    ['the day after tomorrow', 'on 2023-05-10'],
    ['on Friday', 'on 2023-05-12'],
    ['on Monday', 'on 2023-05-15'],
    ['next week', 'in the week of 2023-05-15'],
    ['next month', 'in June 2023'],
    ['this weekend', 'on the weekend of 2023-05-13'],
    ['next year', 'in 2024'],
    ['in three days', 'on 2023-05-11'],
    ['on 3 May', 'on 2024-05-03'],
    ['on June 3', 'on 2023-06-03'],
  ])('in the future: %s is %s', (text, expected) => {
    expect(readTime(`we meet ${text}`, TURN_TIME, false)).toMatchObject({ when: expected, isFuture: true })
  })

  it.each([
    ['29 February', '2023-05-08', true, '2020-02-29'],
    ['29 February', '2024-01-15', true, '2020-02-29'],
    ['29 February', '2024-02-29', true, '2024-02-29'],
    ['29 February', '2024-03-01', false, '2028-02-29'],
    ['February 29', '2023-05-08', false, '2024-02-29'],
    ['29 February', '1903-12-31', true, '1896-02-29'],
    ['29 February 2024', '2023-05-08', true, '2024-02-29'],
    ['29 February 2023', '2023-05-08', true, null],
    ['2023-02-29', '2023-05-08', true, null],
    ['30 February', '2024-05-08', true, null],
    ['31 December', '2023-01-01', true, '2022-12-31'],
  ])('%s, said on %s (in the past: %s), is %s', (text, saidOn, isPast, expected) => {
    const day = readTime(`we met on ${text}`, new Date(saidOn), isPast)?.day
    expect(day?.toISOString().slice(0, 10) ?? null).toBe(expected)
  })

  it.each([
    'recently',
    'a few days ago',
    'some time ago',
    'soon',
    'next Friday',
    'one day',
    'in the morning',
    'on 31 February',
    'Friday',
    'in May',
    'someday',
    'in room 2019',
    'last',
  ])('is ignored if it is ambiguous or invalid: %s', (text) => {
    expect(when(`we met ${text}`, true)).toBeNull()
  })
})
