// Index terms of the days that a text is about, so that a question about a date finds the turns that name it, also by
// "yesterday" or "last Friday". A day has a term of its own and that of its month: "@2023-05-05" and "@2023-05".

import { periods, type Period } from '../../../text/dates/dates.ts'
import type { LatinLanguage } from '../../../text/words/language.ts'
import { relativeDates, type DayRange } from '../../../text/dates/relative-dates.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Maximum number of days of a range whose days have terms, such as a week. */
const MAX_DAYS = 7
/** Maximum number of terms of a text. */
const MAX_TERMS = 24

const dayTerm = (at: number) => `@${new Date(at).toISOString().slice(0, 10)}`
const monthTerm = (at: number) => dayTerm(at).slice(0, 8)

const inYear = (year: number, month: number, day: number | null): DayRange =>
  day === null
    ? { from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) }
    : { from: Date.UTC(year, month, day), to: Date.UTC(year, month, day + 1) }

/** Returns the ranges of a period of a day or a month: in its year, or, if it names none, in these. */
const rangesOf = ({ year, month, months, day }: Period, years: readonly number[]): DayRange[] =>
  month === null || months > 1 ? [] : (year === null ? years : [year]).map((each) => inYear(each, month, day))

const daysOf = ({ from, to }: DayRange) => Array.from({ length: (to - from) / DAY_MS }, (_, n) => from + n * DAY_MS)
const isShort = ({ from, to }: DayRange) => to - from <= MAX_DAYS * DAY_MS
const isMonth = ({ from, to }: DayRange) => to - from <= 31 * DAY_MS

/**
 * Returns the index terms of the days that a turn is about. A date without a year is the closest one.
 * @param at creation time of the turn
 */
export function dateTerms(text: string, language: LatinLanguage | null, at: Date): string[] {
  const year = at.getUTCFullYear()
  const distance = ({ from }: DayRange) => Math.abs(from - at.getTime())
  const closest = (ranges: DayRange[]) => ranges.toSorted((a, b) => distance(a) - distance(b)).slice(0, 1)
  const dates = periods(text, language).flatMap((period) => closest(rangesOf(period, [year - 1, year, year + 1])))
  const found = new Set<string>()
  for (const range of [...dates, ...relativeDates(text, language, at)]) {
    if (isShort(range)) for (const day of daysOf(range)) found.add(dayTerm(day)).add(monthTerm(day))
    else if (isMonth(range)) found.add(monthTerm(range.from))
  }
  return [...found].slice(0, MAX_TERMS)
}

/**
 * Returns the terms to search for the days and months that a query names, each as a list of alternatives, of which a turn
 * may contain any. A date without a year is one of this year or of the year before.
 * @param at time of the query
 */
export function dateQueryTerms(query: string, language: LatinLanguage | null, at: Date): string[][] {
  const year = at.getUTCFullYear()
  const dates = periods(query, language).map((period) => rangesOf(period, [year, year - 1]))
  const relative = relativeDates(query, language, at).map((range) => [range])
  return [...dates, ...relative]
    .map((ranges) =>
      ranges.flatMap((range) => {
        if (isShort(range)) return daysOf(range).map(dayTerm)
        return isMonth(range) ? [monthTerm(range.from)] : []
      }),
    )
    .filter((alternatives) => alternatives.length > 0)
}
