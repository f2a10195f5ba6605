// Days, weeks, months and years that texts name relative to a time.

import { describe, expect, it } from 'vitest'
import type { LatinLanguage } from '../../../../src/text/words/language.ts'
import { relativeDates } from '../../../../src/text/dates/relative-dates.ts'

/** A Friday. */
const NOW = new Date('2026-11-27T10:30:00Z')
const day = (text: string) => Date.parse(`${text}T00:00:00Z`)
const found = (text: string, language: LatinLanguage | null = null, now = NOW) =>
  relativeDates(text, language, now).map(({ from, to }) => {
    const [first, last] = [from, to - 1].map((time) => new Date(time).toISOString().slice(0, 10))
    return first === last ? first : `${first} to ${last}`
  })

const [TODAY, YESTERDAY, BEFORE] = ['2026-11-27', '2026-11-26', '2026-11-25']
const [LAST_WEEK, LAST_MONTH, LAST_YEAR] = [
  '2026-11-16 to 2026-11-22',
  '2026-10-01 to 2026-10-31',
  '2025-01-01 to 2025-12-31',
]
const LAST_MONDAY = '2026-11-23'
const THREE_DAYS_AGO = '2026-11-24'
const TWO_WEEKS_AGO = '2026-11-10 to 2026-11-16'
const TWO_MONTHS_AGO = '2026-09-01 to 2026-09-30'
const TWO_YEARS_AGO = '2024-01-01 to 2024-12-31'
const ALL = [
  TODAY,
  YESTERDAY,
  BEFORE,
  LAST_WEEK,
  LAST_MONTH,
  LAST_YEAR,
  LAST_MONDAY,
  THREE_DAYS_AGO,
  TWO_WEEKS_AGO,
  TWO_MONTHS_AGO,
  TWO_YEARS_AGO,
]

describe('in each language', () => {
  it.each<[language: LatinLanguage | 'ru' | 'zh' | 'ja' | 'ko', phrases: string]>([
    [
      'en',
      'today; Yesterday; the day before yesterday; last week; last month; last year; last Monday; three days ago; '
        + 'two weeks ago; 2 months ago; two years ago',
    ],
    [
      'de',
      'heute; gestern; vorgestern; letzte Woche; im letzten Monat; letztes Jahr; letzten Montag; vor drei Tagen; '
        + 'vor zwei Wochen; vor 2 Monaten; vor zwei Jahren',
    ],
    [
      'fr',
      'aujourd’hui; hier; avant-hier; la semaine dernière; le mois dernier; l’année dernière; lundi dernier; '
        + 'il y a trois jours; il y a deux semaines; il y a 2 mois; il y a deux ans',
    ],
    [
      'es',
      'hoy; ayer; anteayer; la semana pasada; el mes pasado; el año pasado; el lunes pasado; hace tres días; '
        + 'hace dos semanas; hace 2 meses; hace dos años',
    ],
    [
      'pt',
      'hoje; ontem; anteontem; na semana passada; no mês passado; no ano passado; na segunda-feira passada; '
        + 'há três dias; duas semanas atrás; há 2 meses; há dois anos',
    ],
    [
      'it',
      'oggi; ieri; l’altro ieri; la settimana scorsa; il mese scorso; l’anno scorso; lunedì scorso; tre giorni fa; '
        + 'due settimane fa; 2 mesi fa; due anni fa',
    ],
    [
      'nl',
      'vandaag; gisteren; eergisteren; vorige week; vorige maand; vorig jaar; afgelopen maandag; drie dagen geleden; '
        + 'twee weken geleden; 2 maanden geleden; twee jaar geleden',
    ],
    [
      'ru',
      'сегодня; вчера; позавчера; на прошлой неделе; в прошлом месяце; в прошлом году; прошлый понедельник; '
        + 'три дня назад; две недели назад; 2 месяца назад; два года назад',
    ],
    ['zh', '今天; 昨天; 前天; 上周; 上个月; 去年; 上周一; 3天前; 二周前; 2个月前; 2年前'],
    ['ja', '今日; 昨日; 一昨日; 先週; 先月; 去年; 先週の月曜日; 3日前; 2週間前; 2か月前; 2年前'],
    ['ko', '오늘; 어제; 그저께; 지난주; 지난달; 작년; 지난주 월요일; 3일 전; 2주 전; 2달 전; 2년 전'],
  ])('%s', (language, phrases) => {
    const latin = ['ru', 'zh', 'ja', 'ko'].includes(language) ? null : (language as LatinLanguage)
    const all = phrases.split('; ')
    expect(all.map((each) => [each, ...found(each, latin)])).toEqual(all.map((each, i) => [each, ALL[i]]))
  })
})

describe('in a text', () => {
  it.each<[text: string, expected: string[]]>([
    ['What did I tell you yesterday about the boat?', [YESTERDAY]],
    ['Was it last week, or a week ago on Monday?', [LAST_WEEK, '2026-11-17 to 2026-11-23'].toReversed()],
    ['Did she call last night?', [YESTERDAY]],
    // Today is a Friday: the last one is a week ago.
    ['last Friday', ['2026-11-20']],
    ['last Saturday', ['2026-11-21']],
    ['a couple of days ago', [BEFORE]],
    ['twelve months ago', ['2025-11-01 to 2025-11-30']],
    ['11 months ago', ['2025-12-01 to 2025-12-31']],
    ['the last week of June', []],
    ['on the last day', []],
    ['500 years ago', []],
    ['Her last name is Day, and her yesterdays are gone.', []],
    ['', []],
  ])('%j names %j', (text, expected) => expect(found(text)).toEqual(expected))
})

it('the last week ends on the Sunday before today, whatever the day', () => {
  for (const [now, expected] of [
    ['2026-11-22T23:59:59Z', '2026-11-09 to 2026-11-15'],
    ['2026-11-23T00:00:00Z', LAST_WEEK],
  ] as const)
    expect(found('last week', 'en', new Date(now))).toEqual([expected])
})

it('a range is whole days in UTC', () => {
  expect(relativeDates('yesterday', 'en', NOW)).toEqual([{ from: day(YESTERDAY), to: day(TODAY) }])
})
