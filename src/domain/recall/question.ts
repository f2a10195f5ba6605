// What a query asks for beyond its words: a speaker, a time, an amount, a name, something of a certain time. Rules of
// English, each a weak hint that ranking adds to the words; of other languages they say nothing and do no harm.

import { MONTHS, SEASONS } from '../../text/calendar.ts'

/** What kind of answer the query wants. */
export type Question = {
  /** Names of speakers that the query says, in lower case: whose words or deeds it is about. */
  speakers: ReadonlySet<string>
  /** A time or a span: when, how long, which year. */
  asksTime: boolean
  asksAmount: boolean
  /** A name: who, where, which, what … called. */
  asksName: boolean
  /** Times that the query names. Empty where it names none. */
  periods: Period[]
}

/** Months and days, of one year or of every year, in UTC. Without a month it is a whole year. */
export type Period = { year: number | null; month: number | null; months: number; day: number | null }

const DAY_MS = 24 * 60 * 60 * 1000
/** What happened in a period is told in it or soon after: "last week" is still said of it for about so long. */
const TOLD_WITHIN_MS = 7 * DAY_MS

const ASKS_TIME = /\bwhen\b|\bhow (?:long|recently)\b|\b(?:what|which) (?:year|month|date|day|time|season|week)\b/i
const ASKS_AMOUNT = /\bhow (?:many|much|often)\b/i
const ASKS_NAME = /\b(?:whom?|whose|where|which|names?|named|called|what (?:city|country|state|place))\b/i

const YEAR = '(?:19|20)\\d\\d'
const DATE = new RegExp(
  `(?:\\b(\\d{1,2})(?:st|nd|rd|th)?\\s+(?:of\\s+)?)?\\b(${MONTHS.join('|')})\\b`
    + `(?:\\s+(\\d{1,2})(?:st|nd|rd|th)?\\b(?!\\d))?(?:,?\\s*(?:of\\s+)?(${YEAR})\\b)?`,
  'gi',
)
const ISO_DATE = new RegExp(`\\b(${YEAR})-(\\d\\d)(?:-(\\d\\d))?\\b`, 'g')
const SEASON = new RegExp(`\\b(${Object.keys(SEASONS).join('|')})\\b(?:\\s+of)?\\s+(${YEAR})\\b`, 'gi')
const BARE_YEAR = new RegExp(`\\b(${YEAR})\\b`, 'g')

/** Reads a query. `names`: the speakers of the searched scope, in lower case, whole names or first names. */
export function readQuestion(query: string, names: Iterable<string>): Question {
  const lower = ` ${query.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
  return {
    speakers: new Set([...names].filter((name) => lower.includes(` ${name} `))),
    asksTime: ASKS_TIME.test(query),
    asksAmount: ASKS_AMOUNT.test(query),
    asksName: ASKS_NAME.test(query),
    periods: periods(query),
  }
}

/** The dates, months, seasons and years that a text names. A bare "may" is a verb, a bare "fall" too. */
export function periods(text: string): Period[] {
  const found: Period[] = []
  const rest = text
    .replace(ISO_DATE, (_, year: string, month: string, day?: string) => {
      found.push({ year: +year, month: +month - 1, months: 1, day: day ? +day : null })
      return ' '
    })
    .replace(DATE, (whole, before: string | undefined, month: string, after?: string, year?: string) => {
      const day = before ?? after
      if (month === 'may' && !day && !year) return whole
      found.push({
        year: year ? +year : null,
        month: MONTHS.indexOf(month.toLowerCase()),
        months: 1,
        day: day ? +day : null,
      })
      return ' '
    })
    .replace(SEASON, (_, season: string, year: string) => {
      found.push({ year: +year, month: SEASONS[season.toLowerCase()]!, months: 3, day: null })
      return ' '
    })
  // A year beside a full date narrows nothing: it is what the conversation was about only if it stands alone.
  if (found.length === 0) {
    for (const [, year] of rest.matchAll(BARE_YEAR)) found.push({ year: +year!, month: null, months: 12, day: null })
  }
  return found
}

/** Whether a turn said at this time (ms) may tell of one of the periods: said in it, or within a week of its end. */
export function toldAbout(asked: readonly Period[], at: number): boolean {
  const year = new Date(at).getUTCFullYear()
  return asked.some((period) => {
    // Without a year every year counts; the period may have begun in the year before.
    const years = period.year === null ? [year - 1, year] : [period.year]
    return years.some((y) => {
      const from = Date.UTC(y, period.month ?? 0, period.day ?? 1)
      const to = period.day === null ? Date.UTC(y, (period.month ?? 0) + period.months, 1) : from + DAY_MS
      return at >= from && at < to + TOLD_WITHIN_MS
    })
  })
}
