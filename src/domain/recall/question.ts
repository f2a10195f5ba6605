// Detects hints in a query: names, periods, and whether it asks for a time, an amount or a name. Each hint is a weak
// signal for ranking. The rules are for English. In other languages, they detect only names, ISO dates and years.

import { MONTHS, SEASONS } from '../../text/calendar.ts'

/** The hints found in a query. */
export type Question = {
  /** The names passed to readQuestion that the query contains, in lower case. */
  names: ReadonlySet<string>
  /** Whether the query asks for a time or a duration, for example by "when", "how long" or "which year". */
  asksTime: boolean
  /** Whether the query asks for an amount, by "how many", "how much" or "how often". */
  asksAmount: boolean
  /** Whether the query asks for a name, for example by "whose", "where", "which" or "called". */
  asksName: boolean
  /** Periods that the query names; may be empty. */
  periods: Period[]
}

/**
 * A period in UTC. If `day` is null, the period is `months` whole months from the start of `month`. Otherwise it is the
 * day `day` of `month`. `month` is 0 to 11; null means January. A null `year` means any year.
 */
export type Period = { year: number | null; month: number | null; months: number; day: number | null }

const DAY_MS = 24 * 60 * 60 * 1000
/** Milliseconds after the end of a period in which a turn may still report on it, for example by "last week". */
const REPORTED_WITHIN_MS = 7 * DAY_MS

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

/**
 * Detects the hints in a query.
 * @param names full and first names of participants, or of the subjects of facts, in lower case
 */
export function readQuestion(query: string, names: Iterable<string>): Question {
  const lower = ` ${query.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
  return {
    names: new Set([...names].filter((name) => lower.includes(` ${name} `))),
    asksTime: ASKS_TIME.test(query),
    asksAmount: ASKS_AMOUNT.test(query),
    asksName: ASKS_NAME.test(query),
    periods: periods(query),
  }
}

/**
 * Returns the dates, months, seasons and years that a text contains. Ignores "may" in lower case without a day or a
 * year, and seasons without a year.
 */
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
  // Use years without a month only if the text contains no other period.
  if (found.length === 0) {
    for (const [, year] of rest.matchAll(BARE_YEAR)) found.push({ year: +year!, month: null, months: 12, day: null })
  }
  return found
}

/**
 * Whether a turn may report on one of the periods: it was created in the period or within REPORTED_WITHIN_MS after it.
 * @param at creation time of the turn, in milliseconds since the epoch
 */
export function mayReportOn(periodsNamed: readonly Period[], at: number): boolean {
  const year = new Date(at).getUTCFullYear()
  return periodsNamed.some((period) => {
    // A period without a year may be in the year of the turn or in the year before.
    const years = period.year === null ? [year - 1, year] : [period.year]
    return years.some((y) => {
      const from = Date.UTC(y, period.month ?? 0, period.day ?? 1)
      const to = period.day === null ? Date.UTC(y, (period.month ?? 0) + period.months, 1) : from + DAY_MS
      return at >= from && at < to + REPORTED_WITHIN_MS
    })
  })
}
