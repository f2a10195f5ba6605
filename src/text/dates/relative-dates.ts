// Days, weeks, months and years that a text names relative to a time, such as "yesterday", "last Friday" or "two weeks
// ago", in eight languages and in Chinese, Japanese and Korean. Pure.

import { WEEKDAYS } from './calendar.ts'
import type { LatinLanguage } from '../words/language.ts'
import type { Language } from '../words/stop-words.ts'

/** Whole days in UTC, in milliseconds since the epoch, `to` excluded. */
export type DayRange = { from: number; to: number }

/**
 * The words of a language, with alternatives separated by `|`. `days`: today, yesterday and the day before. `units`: day,
 * week, month and year. `numbers` from 1. In `ago` and `last`, N stands for a number, U for a unit, and W for a weekday.
 */
type Phrases = { days: string[]; units: string[]; numbers: string[]; ago: string[]; last: string[] }

const split = (words: string) => words.split(' ')

const PHRASES: Record<Language, Phrases> = {
  en: {
    days: [
      'today|tonight|this (?:morning|afternoon|evening)',
      'yesterday|last (?:night|evening)',
      'the day before yesterday',
    ],
    units: ['days?', 'weeks?', 'months?', 'years?'],
    numbers: ['an?|one', 'two|a couple of', 'three', ...split('four five six seven eight nine ten eleven twelve')],
    ago: ['N U ago'],
    last: ['last (?:U|W)(?! of)'],
  },
  de: {
    days: split('heute gestern vorgestern'),
    units: ['tage?n?|tags', 'wochen?', 'monate?n?|monats', 'jahre?n?|jahres'],
    numbers: ['eine[mnr]?|ein', ...split('zwei drei vier fünf sechs sieben acht neun zehn elf zwölf')],
    ago: ['vor N U'],
    last: ['(?:letzt|vorig|vergangen)e[nmrs]? (?:U|W)'],
  },
  fr: {
    days: ["aujourd['’]hui", 'hier', 'avant-hier'],
    units: ['jours?', 'semaines?', 'mois', 'ans?|années?'],
    numbers: ['une?', ...split('deux trois quatre cinq six sept huit neuf dix onze douze')],
    ago: ['il y a N U'],
    last: ['(?:U|W) (?:derni(?:er|ère)|passée?)'],
  },
  es: {
    days: ['hoy', 'ayer|anoche', 'anteayer|antes de ayer'],
    units: ['días?', 'semanas?', 'mes(?:es)?', 'años?'],
    numbers: ['una?', ...split('dos tres cuatro cinco seis siete ocho nueve diez once doce')],
    ago: ['hace N U'],
    last: ['(?:U|W) pasad[oa]', 'últim[oa] (?:U|W)'],
  },
  pt: {
    days: ['hoje', 'ontem', 'anteontem'],
    units: ['dias?', 'semanas?', 'mês|meses', 'anos?'],
    numbers: ['uma?', 'dois|duas', ...split('três quatro cinco seis sete oito nove dez onze doze')],
    ago: ['há N U', 'N U atrás'],
    last: ['(?:U|W)(?:-feira)? passad[oa]', 'últim[oa] (?:U|W)'],
  },
  it: {
    days: ['oggi', 'ieri', "l['’]altro ?ieri"],
    units: ['giorn[oi]', 'settiman[ae]', 'mes[ei]', 'ann[oi]'],
    numbers: ['un[oa]?', ...split('due tre quattro cinque sei sette otto nove dieci undici dodici')],
    ago: ['N U fa'],
    last: ['(?:U|W) (?:scors|passat)[oa]', '(?:scors|ultim)[oa] (?:U|W)'],
  },
  nl: {
    days: split('vandaag gisteren eergisteren'),
    units: ['dag(?:en)?', 'week|weken', 'maand(?:en)?', 'jaar|jaren'],
    numbers: ['een|één', ...split('twee drie vier vijf zes zeven acht negen tien elf twaalf')],
    ago: ['N U geleden'],
    last: ['(?:vorige?|afgelopen) (?:U|W)'],
  },
  ru: {
    days: split('сегодня вчера позавчера'),
    units: ['день|дня|дней', 'недел[яюиье]|недель', 'месяц(?:а|ев|е)?', 'год(?:а|у)?|лет'],
    numbers: [
      'один|одну',
      'два|две',
      ...split('три четыре пять шесть семь восемь девять десять одиннадцать двенадцать'),
    ],
    ago: ['N U назад', 'U назад'],
    last: ['прошл(?:ый|ую|ое|ой|ом|ого) (?:U|W)'],
  },
}

/** Chinese, Japanese and Korean, whose words are not separated; `last` are week, month and year. */
const EAST_ASIAN: { days: string[]; ago: string[]; last: string[]; weekday: string }[] = [
  {
    days: ['今天', '昨天|昨晚', '前天'],
    ago: ['N天前', 'N(?:周|週|个?星期|個星期)前', 'N(?:个|個)?月前', 'N年前'],
    last: ['上(?:个|個)?(?:周|週|星期)', '上(?:个|個)月', '去年'],
    weekday: '上(?:周|週|星期)(?<w>[一二三四五六日天])',
  },
  {
    days: ['今日', '昨日', '一昨日|おととい'],
    ago: ['N日前', 'N週間前', 'N(?:か|ヶ|カ|ケ)月前', 'N年前'],
    last: ['先週(?!の.曜)', '先月', '去年|昨年'],
    weekday: '先週の(?<w>[月火水木金土日])曜',
  },
  {
    days: ['오늘', '어제|어젯밤', '그저께|그제'],
    ago: ['N일 ?전', 'N주일? ?전', 'N(?:달|개월) ?전', 'N년 ?전'],
    last: ['지난 ?주(?! .요일)', '지난 ?달', '작년|지난 ?해'],
    weekday: '지난 ?주? (?<w>[월화수목금토일])요일',
  },
]
const EAST_ASIAN_WEEKDAYS = ['一月월', '二火화', '三水수', '四木목', '五金금', '六土토', '日天日일']
const EAST_ASIAN_NUMBERS = '一二三四五六七八九十'

const DAY_MS = 24 * 60 * 60 * 1000
/** Greatest number of units; "200 years ago" is not about a conversation. */
const MAX_UNITS = 120

/** Returns the days from `from`, and the next `days` - 1. */
const days = (from: number, count: number): DayRange => ({ from, to: from + count * DAY_MS })

/**
 * Returns `n` units before the day that begins at `today`. `unit`: 0 for days, 1 for weeks, 2 for months, 3 for years. A
 * week is the calendar week from Monday if it is the last one, otherwise 7 days around the day.
 */
function before(today: number, n: number, unit: number, isLast: boolean): DayRange {
  const date = new Date(today)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  if (unit === 0) return days(today - n * DAY_MS, 1)
  if (unit === 1) {
    const monday = today - ((date.getUTCDay() + 6) % 7) * DAY_MS
    return isLast ? days(monday - 7 * DAY_MS, 7) : days(today - (7 * n + 3) * DAY_MS, 7)
  }
  if (unit === 2) return { from: Date.UTC(year, month - n, 1), to: Date.UTC(year, month - n + 1, 1) }
  return { from: Date.UTC(year - n, 0, 1), to: Date.UTC(year - n + 1, 0, 1) }
}

/** Returns the last such weekday before today; 0 is Monday. */
function lastWeekday(today: number, weekday: number): DayRange {
  const back = (new Date(today).getUTCDay() + 6 - weekday + 7) % 7 || 7
  return days(today - back * DAY_MS, 1)
}

/** The named groups of a match: a number `n`, a unit `u` or a weekday `w`. */
type Groups = Partial<Record<'n' | 'u' | 'w', string>>
/** A pattern, and the range that a match names for the day that begins at `today`; null for a range too long ago. */
type Rule = [pattern: RegExp, toRange: (today: number, groups: Groups) => DayRange | null]

const oneOf = (patterns: readonly string[]) => `(?:${patterns.join('|')})`
/** Returns the index of the pattern that matches the whole text; -1 for none. */
const indexOf = (patterns: readonly string[], text: string) =>
  patterns.findIndex((each) => new RegExp(`^(?:${each})$`, 'iu').test(text))

const onDay = (n: number) => (today: number) => days(today - n * DAY_MS, 1)

function rulesOf(language: Language): Rule[] {
  const { days: dayWords, units, numbers, ago, last } = PHRASES[language]
  const weekdays = WEEKDAYS[language]
  const countOf = (n = '1') => (/^\d/.test(n) ? Number(n) : indexOf(numbers, n) + 1)
  /** A phrase as a pattern that begins and ends with a word of any script, for which \\b does not work. */
  const phrase = (text: string, unitsOf: readonly string[] = units) => {
    const pattern = text
      .replaceAll(/\b[NUW]\b/g, (letter) => {
        if (letter === 'N') return `(?<n>\\d{1,3}|${oneOf(numbers)})`
        return letter === 'U' ? `(?<u>${oneOf(unitsOf)})` : `(?<w>${oneOf(weekdays)})`
      })
      .replaceAll(' ', '\\s+')
    return new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})(?![\\p{L}\\p{N}])`, 'giu')
  }
  return [
    // "The day before yesterday" contains "yesterday".
    ...[2, 1, 0].map((n): Rule => [phrase(dayWords[n]!), onDay(n)]),
    ...ago.map((each): Rule => [
      phrase(each),
      (today, { n, u }) => (countOf(n) > MAX_UNITS ? null : before(today, countOf(n), indexOf(units, u!), false)),
    ]),
    // "The last day" is not relative to today.
    ...last.map((each): Rule => [
      phrase(each, units.slice(1)),
      (today, { u, w }) =>
        w === undefined ? before(today, 1, indexOf(units, u!), true) : lastWeekday(today, indexOf(weekdays, w)),
    ]),
  ]
}

function eastAsianRules(): Rule[] {
  const countOf = (n = '1') => (/^\d/.test(n) ? Number(n) : EAST_ASIAN_NUMBERS.indexOf(n) + 1)
  return EAST_ASIAN.flatMap(({ days: dayWords, ago, last, weekday }): Rule[] => [
    [
      new RegExp(weekday, 'gu'),
      (today, { w }) =>
        lastWeekday(
          today,
          EAST_ASIAN_WEEKDAYS.findIndex((names) => names.includes(w!)),
        ),
    ],
    ...[2, 1, 0].map((n): Rule => [new RegExp(dayWords[n]!, 'gu'), onDay(n)]),
    ...ago.map((each, unit): Rule => [
      new RegExp(each.replace('N', `(?<n>\\d{1,3}|[${EAST_ASIAN_NUMBERS}])\\s?`), 'gu'),
      (today, { n }) => (countOf(n) > MAX_UNITS ? null : before(today, countOf(n), unit, false)),
    ]),
    ...last.map((each, i): Rule => [new RegExp(each, 'gu'), (today) => before(today, 1, i + 1, true)]),
  ])
}

/** The rules of each language, made when a text in it is first read. */
const rules = new Map<Language | null, Rule[]>()
const EAST_ASIAN_LETTERS = /[\p{Script=Han}\p{Script=Hangul}]/u
const CYRILLIC = /\p{Script=Cyrillic}/u

function rulesFor(text: string, language: LatinLanguage | null): Rule[] {
  const key = EAST_ASIAN_LETTERS.test(text) ? null : CYRILLIC.test(text) ? 'ru' : (language ?? 'en')
  let found = rules.get(key)
  if (!found) rules.set(key, (found = key === null ? eastAsianRules() : rulesOf(key)))
  return found
}

/**
 * Returns the days that the text names relative to `now`, in no order.
 * @param language the language of the text (language.ts) if it is in Latin script; null for English
 */
export function relativeDates(text: string, language: LatinLanguage | null, now: Date): DayRange[] {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  const found: DayRange[] = []
  let rest = text.normalize('NFC')
  for (const [pattern, toRange] of rulesFor(rest, language)) {
    rest = rest.replace(pattern, (...match: unknown[]) => {
      const range = toRange(today, match.at(-1) as Groups)
      if (range) found.push(range)
      return ' '
    })
  }
  return found
}
