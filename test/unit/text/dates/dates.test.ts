// The periods that a text names, in eight languages and in Chinese, Japanese and Korean.

import { describe, expect, it } from 'vitest'
import { periods, type Period } from '../../../../src/text/dates/dates.ts'
import { readText } from '../../../../src/text/words/words.ts'

const month = (year: number | null, month: number, more: Partial<Period> = {}): Period => ({
  year,
  month,
  months: 1,
  day: null,
  ...more,
})

describe('the dates, months, seasons and years', () => {
  it.each<[text: string, expected: Period[]]>([
    ['on 3 May 2023', [month(2023, 4, { day: 3 })]],
    ['on the 3rd of May, 2023', [month(2023, 4, { day: 3 })]],
    ['on May 3rd, 2023', [month(2023, 4, { day: 3 })]],
    ['on MAY 3', [month(null, 4, { day: 3 })]],
    ['on 2023-05-03', [month(2023, 4, { day: 3 })]],
    ['in 2023-05', [month(2023, 4)]],
    ['in January of 2023', [month(2023, 0)]],
    ['in December', [month(null, 11)]],
    ['between June 2022 and August 2022', [month(2022, 5), month(2022, 7)]],
    ['in summer 2022', [month(2022, 5, { months: 3 })]],
    ['in the fall of 2022', [month(2022, 8, { months: 3 })]],
    ['during 2022', [{ year: 2022, month: null, months: 12, day: null }]],
    ['in 2021 and 2022', [2021, 2022].map((year) => ({ year, month: null, months: 12, day: null }))],
    ['what may I do, and did prices fall this summer', []],
    ['room 2001a, page 12', []],
    ['am 3. Mai 2023', [month(2023, 4, { day: 3 })]],
    ['Was war im März?', [month(null, 2)]],
    ['am 03.05.2023', [month(2023, 4, { day: 3 })]],
    ['le 3 mai', [month(null, 4, { day: 3 })]],
    ['le 1er août 2023', [month(2023, 7, { day: 1 })]],
    ['que faisait-il en mars ?', [month(null, 2)]],
    ['el 3 de mayo de 2023', [month(2023, 4, { day: 3 })]],
    ['em março de 2023', [month(2023, 2)]],
    ['il 3 maggio', [month(null, 4, { day: 3 })]],
    ['op 3 mei', [month(null, 4, { day: 3 })]],
    ['3 мая 2023', [month(2023, 4, { day: 3 })]],
    ['в декабре', [month(null, 11)]],
    ['2023年5月3日', [month(2023, 4, { day: 3 })]],
    ['5月に何をした', [month(null, 4)]],
    ['2023년 5월 3일', [month(2023, 4, { day: 3 })]],
    ['im Sommer 2022', [month(2022, 5, { months: 3 })]],
    ['What did they do in Rio de Janeiro?', []],
    ['a rover on Mars', []],
    ['', []],
  ])('are found in %j', (text, expected) => {
    expect(periods(text, readText(text).language)).toEqual(expected)
  })
})
