// Dates, months, seasons and years that a text names, in eight languages and in Chinese, Japanese and Korean. Pure.

import { MONTHS, SEASONS } from './calendar.ts'
import type { LatinLanguage } from '../words/language.ts'

/**
 * A period in UTC. If `day` is null, the period is `months` whole months from the start of `month`. Otherwise it is the
 * day `day` of `month`. `month` is 0 to 11; null means January. A null `year` means any year.
 */
export type Period = { year: number | null; month: number | null; months: number; day: number | null }

const YEAR = '(?:19|20)\\d\\d'
/** Begin and end a word of any script, for which \\b does not work. */
const [BEGIN, END] = ['(?<![\\p{L}\\p{N}])', '(?![\\p{L}\\p{N}])']
const LINK = `(?:of|de|di|del|van|d['’])`
const DATE = new RegExp(
  `(?:${BEGIN}(\\d{1,2})(?:st|nd|rd|th|er|[.º°])?\\s*(?:${LINK}\\s*)?)?${BEGIN}(${[...MONTHS.keys()].join('|')})${END}`
    + `(?:\\s+(\\d{1,2})(?:st|nd|rd|th)?${END})?(?:,?\\s*(?:${LINK}\\s*)?(${YEAR})${END})?`,
  'giu',
)
const ISO_DATE = new RegExp(`${BEGIN}(${YEAR})-(\\d\\d)(?:-(\\d\\d))?${END}`, 'gu')
/** Day, month and year with dots, as in German and Russian. With slashes, their order differs between countries. */
const DOTTED_DATE = new RegExp(`${BEGIN}(\\d{1,2})\\.\\s?(\\d{1,2})\\.\\s?(${YEAR})${END}`, 'gu')
/** A date in Chinese, Japanese or Korean: "2023年5月3日", "5月", "5월 3일". */
const EAST_ASIAN_DATE = new RegExp(
  `(?:(${YEAR})[年년]\\s?)?(?<!\\d)(\\d{1,2})[月월](?:\\s?(\\d{1,2})[日号號일])?`,
  'gu',
)
const SEASON = new RegExp(`${BEGIN}(${[...SEASONS.keys()].join('|')})${END}(?:\\s+${LINK})?\\s+(${YEAR})${END}`, 'giu')
const BARE_YEAR = new RegExp(`${BEGIN}(${YEAR})(?:${END}|(?=[年년]))`, 'gu')
/** Names of months that are also other words. Without a day or a year, they count only after a preposition. */
const AMBIGUOUS = new Set(['mars', 'mayo', 'mei', 'mai', 'март', 'мая'])
const BEFORE_MONTH = /(?:^|[^\p{L}])(?:en|im|in|em|de|fin|début|seit|sinds|в)\s+$/iu

/** Matches each text with a period, about four times as fast as the patterns of the periods. */
const MAY_NAME_PERIOD = new RegExp(`\\d|${BEGIN}(?:${[...MONTHS.keys()].join('|')})${END}`, 'iu')

/**
 * Returns the dates, months, seasons and years that a text contains. Ignores "may" in lower case without a day or a
 * year, and seasons without a year.
 */
export function periods(text: string, language: LatinLanguage | null): Period[] {
  const normal = text.normalize('NFC')
  if (!MAY_NAME_PERIOD.test(normal)) return []
  const found: Period[] = []
  const add = (year: string | undefined, month: number, day: string | undefined) => {
    if (month >= 0 && month < 12) found.push({ year: year ? +year : null, month, months: 1, day: day ? +day : null })
    return ' '
  }
  const rest = normal
    .replace(ISO_DATE, (_, year: string, month: string, day?: string) => add(year, +month - 1, day))
    .replace(DOTTED_DATE, (_, day: string, month: string, year: string) => add(year, +month - 1, day))
    .replace(EAST_ASIAN_DATE, (_, year: string | undefined, month: string, day?: string) => add(year, +month - 1, day))
    .replace(DATE, (whole: string, ...groups: (string | number | undefined)[]) => {
      const [before, month, after, year, at, all] = groups as [string?, string?, string?, string?, number?, string?]
      const day = before ?? after
      const name = month!.toLowerCase()
      const known = MONTHS.get(name)!
      if (!day && !year) {
        if (month === 'may') return whole
        // Ignore names such as "Rio de Janeiro" in other languages.
        if (!known.languages.some((each) => each === 'ru' || each === (language ?? 'en'))) return whole
        if (AMBIGUOUS.has(name) && !BEFORE_MONTH.test(all!.slice(0, at))) return whole
      }
      return add(year, known.month, day)
    })
    .replace(SEASON, (_, season: string, year: string) => {
      found.push({ year: +year, month: SEASONS.get(season.toLowerCase())!, months: 3, day: null })
      return ' '
    })
  // Use years without a month only if the text contains no other period.
  if (found.length === 0) {
    for (const [, year] of rest.matchAll(BARE_YEAR)) found.push({ year: +year!, month: null, months: 12, day: null })
  }
  return found
}
