// Resolves times in a text to calendar dates: "yesterday" in a turn of 8 May 2023 is 2023-05-07. All dates are in UTC,
// like the creation times of turns. Vague times ("recently", "a few days ago") are not resolved.

export type Timed = {
  /** The text without its time. */
  rest: string
  /** The resolved time, for example "on 2023-05-07", "in the week of 2023-05-01" or "in April 2023". */
  when: string
  isFuture: boolean
  /** The day at 00:00 UTC; null for longer periods. */
  day: Date | null
  /** The first moment of the time, in UTC: 1 April 2023 for "in April 2023". */
  from: Date
}

const DAY_MS = 24 * 60 * 60 * 1000
export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const NUMBERS: Record<string, number> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  'a couple of': 2,
  'couple of': 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
}
const NUMBER = `(?:\\d{1,3}|${Object.keys(NUMBERS).join('|')})`

/** Parses a count in words or digits; null for other text. */
export const numberOf = (text: string): number | null =>
  /^\d{1,3}$/.test(text) ? Number(text) : (NUMBERS[text.toLowerCase()] ?? null)

const shift = (day: Date, days: number) => new Date(day.getTime() + days * DAY_MS)
const iso = (day: Date) => day.toISOString().slice(0, 10)
const startOfDay = (at: Date) => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()))
const monday = (day: Date) => shift(day, -((day.getUTCDay() + 6) % 7))

type Found = { when: string; isFuture: boolean; from: Date; day?: Date }
const onDay = (day: Date, today: Date): Found => ({ when: `on ${iso(day)}`, isFuture: day > today, from: day, day })
const inYear = (year: number, isFuture: boolean): Found => ({ when: `in ${year}`, isFuture, from: firstDay(year, 0) })
const firstDay = (year: number, month: number) => new Date(Date.UTC(year, month, 1))

/** Returns the month that is `months` after the month of `at`. */
function month(at: Date, months: number, isFuture = months > 0): Found {
  const from = firstDay(at.getUTCFullYear(), at.getUTCMonth() + months)
  return { when: `in ${MONTHS[from.getUTCMonth()]} ${from.getUTCFullYear()}`, isFuture, from }
}

/** Returns the time `n` units after today, or before today if `n` is negative, in the precision of the unit. */
function away(unit: string, n: number, today: Date): Found {
  const isFuture = n > 0
  switch (unit) {
    case 'day':
      return onDay(shift(today, n), today)
    case 'week': {
      const from = monday(shift(today, 7 * n))
      return { when: `in the week of ${iso(from)}`, isFuture, from }
    }
    case 'weekend': {
      const from = shift(monday(shift(today, 7 * n)), 5)
      return { when: `on the weekend of ${iso(from)}`, isFuture: n >= 0, from }
    }
    case 'month':
      return month(today, n)
    default:
      return inYear(today.getUTCFullYear() + n, isFuture)
  }
}

/** Returns the named weekday: the last one before today (-1) or the first one after today (1); never today. */
const weekday = (name: string, direction: 1 | -1, today: Date): Found => {
  const difference = WEEKDAYS.findIndex((day) => day.startsWith(name.slice(0, 3).toLowerCase())) - today.getUTCDay()
  const days = direction > 0 ? ((difference + 6) % 7) + 1 : -(((-difference + 6) % 7) + 1)
  return onDay(shift(today, days), today)
}

const monthIndex = (name: string) => MONTHS.findIndex((each) => each.toLowerCase() === name.toLowerCase())
const MONTH = `(?:${MONTHS.join('|')})`
const YEAR = '((?:19|20)\\d\\d)'

/** Maximum number of years from one 29 February to the next, for example from 1896 to 1904. */
const LEAP_GAP = 8

/**
 * Returns a day of a month. Without a year, returns the latest such day up to today (`isPast`), or the earliest from
 * today on. Null for an invalid day.
 */
function dated(
  { day, name, year }: { day: string; name: string; year: string | undefined },
  isPast: boolean,
  today: Date,
): Found | null {
  const thisYear = today.getUTCFullYear()
  const years = year ? [Number(year)] : Array.from({ length: LEAP_GAP + 1 }, (_, n) => thisYear + (isPast ? -n : n))
  for (const each of years) {
    const date = new Date(Date.UTC(each, monthIndex(name), Number(day)))
    if (date.getUTCMonth() !== monthIndex(name)) continue
    if (year || (isPast ? date <= today : date >= today)) return onDay(date, today)
  }
  return null
}

/** Returns the latest day with the number up to today (`isPast`), or the earliest from today on; null if invalid. */
function dayOfMonth(day: number, isPast: boolean, today: Date): Found | null {
  const isOver = day <= today.getUTCDate()
  const months = isPast ? (isOver ? 0 : -1) : isOver ? 1 : 0
  const date = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + months, day))
  return date.getUTCDate() === day ? onDay(date, today) : null
}

/** The first months of the seasons of the northern hemisphere. */
const SEASONS: Record<string, number> = { spring: 2, summer: 5, autumn: 8, fall: 8, winter: 11 }
/** Returns a season: "this" one is the last that began or, if not `isPast`, the first that has not ended. */
function season(which: string, name: string, today: Date, isPast: boolean): Found {
  const first = SEASONS[name]!
  const year = today.getUTCFullYear()
  // The season of this year, or of the last year if its end is yet to come: the winter in January.
  const current = first > 9 && today.getUTCMonth() < 2 ? year - 1 : year
  const hasBegun = firstDay(current, first) <= today
  const isOver = firstDay(current, first + 3) <= today
  const isLast = which === 'last' || which === 'this past' || (which === 'this' && isPast)
  const back = isLast && (!hasBegun || (which === 'last' && !isOver)) ? -1 : 0
  const ahead = !isLast && (isOver || (which === 'next' && hasBegun)) ? 1 : 0
  const from = firstDay(current + back + ahead, first)
  return { when: `in the ${name} of ${from.getUTCFullYear()}`, isFuture: from > today, from }
}

/** A pattern of times, and a function that resolves a match. The function returns null for an invalid date. */
type Reader = [pattern: string, read: (match: RegExpExecArray, today: Date, isPast: boolean) => Found | null]
const PART = '(?: (?:morning|afternoon|evening|night))?'
const READERS: Reader[] = [
  ['(?:earlier )?(?:today|tonight|this (?:morning|afternoon|evening))', (_, today) => onDay(today, today)],
  ['the day before yesterday', (_, today) => onDay(shift(today, -2), today)],
  [`(?:yesterday${PART}|last night)`, (_, today) => onDay(shift(today, -1), today)],
  ['the day after tomorrow', (_, today) => onDay(shift(today, 2), today)],
  [`tomorrow${PART}`, (_, today) => onDay(shift(today, 1), today)],
  [
    `(?:about |around )?(${NUMBER}) (day|week|weekend|month|year)s? ago`,
    ([, n, unit], today) => away(unit!.toLowerCase(), -numberOf(n!)!, today),
  ],
  [
    `in (${NUMBER}) (day|week|month|year)s?(?: time)?`,
    ([, n, unit], today) => away(unit!.toLowerCase(), numberOf(n!)!, today),
  ],
  ['(?:last|this past|the past) (week|weekend|month|year)', ([, unit], today) => away(unit!.toLowerCase(), -1, today)],
  ['next (week|weekend|month|year)', ([, unit], today) => away(unit!.toLowerCase(), 1, today)],
  [
    'this (weekend|week|month|year)',
    ([, unit], today, isPast) => ({ ...away(unit!.toLowerCase(), 0, today), isFuture: !isPast }),
  ],
  [
    `(?:last|this past) (${WEEKDAYS.join('|')}|mon|tues?|wed|thurs?|fri|sat|sun)${PART}`,
    ([, day], today) => weekday(day!, -1, today),
  ],
  [
    `(?:on|this|this coming|coming) (${WEEKDAYS.join('|')})${PART}`,
    ([, day], today, isPast) => weekday(day!, isPast ? -1 : 1, today),
  ],
  [
    `(?:on )?(?:the )?(\\d{1,2})(?:st|nd|rd|th)?(?: of)? (${MONTH})(?:,? ${YEAR})?`,
    ([, day, name, year], today, isPast) => dated({ day: day!, name: name!, year }, isPast, today),
  ],
  [
    `(?:on )?(${MONTH}) (\\d{1,2})(?:st|nd|rd|th)?(?:,? ${YEAR})?(?!\\d)`,
    ([, name, day, year], today, isPast) => dated({ day: day!, name: name!, year }, isPast, today),
  ],
  [
    'on the (\\d{1,2})(?:st|nd|rd|th)(?! of)(?! birthday)',
    ([, day], today, isPast) => dayOfMonth(Number(day), isPast, today),
  ],
  [
    `(?:on )?${YEAR}-(\\d\\d)-(\\d\\d)`,
    ([, year, number, day], today) =>
      MONTHS[Number(number) - 1] ? dated({ day: day!, name: MONTHS[Number(number) - 1]!, year }, true, today) : null,
  ],
  [
    `(?:back )?in (${MONTH}),? (?:of )?${YEAR}`,
    ([, name, year], today) => {
      const first = firstDay(Number(year), monthIndex(name!))
      return month(first, 0, first > today)
    },
  ],
  [`(?:back )?in ${YEAR}`, ([, year], today) => inYear(Number(year), Number(year) > today.getUTCFullYear())],
  [
    `(?:during |over )?(this|last|next|this past|this coming) (${Object.keys(SEASONS).join('|')})`,
    ([, which, name], today, isPast) => season(which!.toLowerCase(), name!.toLowerCase(), today, isPast),
  ],
  [`last (${MONTH})`, ([, name], today) => month(today, -cyclic(today.getUTCMonth() - monthIndex(name!)))],
  [`next (${MONTH})`, ([, name], today) => month(today, cyclic(monthIndex(name!) - today.getUTCMonth()))],
]
/** Returns a difference of months as 1 to 12. */
const cyclic = (months: number) => ((months + 11) % 12) + 1

const compiled = READERS.map(([pattern, read]) => [new RegExp(`(?:^|,? )\\b${pattern}\\b`, 'i'), read] as const)
/** A text without any of these contains no time. */
const HAS_TIME = new RegExp(
  String.raw`\d|\b(?:today|tonight|this|yesterday|last|tomorrow|ago|in|past|next|on|coming|${MONTH})\b`,
  'i',
)

/**
 * Resolves a time in the text with the first of READERS that matches and returns a time. Returns null if none does.
 * @param at creation time of the turn
 * @param isPast whether an ambiguous time, such as "on Monday", is in the past; otherwise in the future
 */
export function readTime(text: string, at: Date, isPast: boolean): Timed | null {
  if (!HAS_TIME.test(text)) return null
  const today = startOfDay(at)
  for (const [pattern, read] of compiled) {
    const match = pattern.exec(text)
    const found = match && read(match, today, isPast)
    if (!found) continue
    const around = `${text.slice(0, match.index)} ${text.slice(match.index + match[0].length)}`
    const rest = around.replace(/\s+/g, ' ').trim()
    return { rest, when: found.when, isFuture: found.isFuture, day: found.day ?? null, from: found.from }
  }
  return null
}

/** Matches relative times. A text in which one remains unresolved is not a lasting fact. */
export const RELATIVE = new RegExp(
  String.raw`\b(?:ago|yesterday|today|tonight|tomorrow|(?:last|next|this|the other) (?:time|day|week|`
    + String.raw`weekend|month|year|morning|night|evening|spring|summer|autumn|fall|winter|\w+day)|`
    + String.raw`(?<!too )soon|later|earlier|recently|lately|just now|upcoming)\b`,
  'i',
)
