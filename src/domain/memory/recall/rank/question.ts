// Detects hints in a query: names, periods, and whether it asks for a time, an amount or a name. Also computes the names
// by which a query may refer to a participant. Each hint is a weak signal for ranking. question-words.ts and text/dates/calendar.ts list the words of each language.

import type { NamedParticipant } from '../../../../store/sql/memory/recall/read-turn-index.ts'
import { periods, type Period } from '../../../../text/dates/dates.ts'
import { relativeDates, type DayRange } from '../../../../text/dates/relative-dates.ts'
import { isShortFor } from '../../../../text/words/short-names.ts'
import { stem } from '../../../../text/words/stems.ts'
import { STOP_WORDS } from '../../../../text/words/stop-words.ts'
import { readText, words } from '../../../../text/words/words.ts'
import { OTHER_QUESTION_WORDS, QUESTION_WORDS } from './question-words.ts'

/** A current or former participant, with the names by which a query may refer to it, in lower case. */
export type NamedActor = { conversationId: string; actor: string; names: readonly string[] }

/** Returns the full name and its first word, in lower case. Omits stop words and single characters. */
export function namesOf(name: string): string[] {
  const all = words(name)
  const first = all[0]
  return [...new Set([all.join(' '), first ?? ''])].filter((each) => each.length > 1 && !STOP_WORDS.en.has(each))
}

export const toNamed = ({ conversationId, actor, displayName }: NamedParticipant): NamedActor => ({
  conversationId,
  actor,
  names: [...namesOf(actor), ...namesOf(displayName ?? '')],
})

/** The hints found in a query. */
export type Question = {
  /** The names passed to readQuestion that the query contains, or a short form of which it contains, in lower case. */
  names: ReadonlySet<string>
  /** Whether the query asks for a time or a duration, for example by "when", "how long" or "which year". */
  asksTime: boolean
  /** Whether the query asks for an amount, by "how many", "how much" or "how often". */
  asksAmount: boolean
  /** Whether the query asks for a name, for example by "whose", "where", "which" or "called". */
  asksName: boolean
  /** Periods that the query names, by a date or relative to the time of the query; may be empty. */
  periods: (Period | DayRange)[]
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Milliseconds after the end of a period in which a turn may still report on it, for example by "last week". */
const REPORTED_WITHIN_MS = 7 * DAY_MS

/**
 * Detects the hints in a query.
 * @param names full and first names of participants, or of the subjects of facts, in lower case
 * @param now time of the query, to which "yesterday" refers
 */
export function readQuestion(query: string, names: Iterable<string>, now: Date): Question {
  const { plain, language } = readText(query)
  const patterns = QUESTION_WORDS[language ?? 'en']
  const asks = (kind: 'time' | 'amount' | 'name') =>
    patterns[kind].test(query) || OTHER_QUESTION_WORDS[kind].test(query)
  const isNamed = nameFinder(query, plain, STOP_WORDS[language ?? 'en'])
  return {
    names: new Set([...names].filter(isNamed)),
    asksTime: asks('time'),
    asksAmount: asks('amount'),
    asksName: asks('name'),
    periods: [...periods(query, language), ...relativeDates(query, language, now)],
  }
}

const UNSPACED_NAME = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{2,}$/u
const HANGUL_NAME = /^\p{Script=Hangul}{2,}$/u
const CYRILLIC_NAME = /^\p{Script=Cyrillic}{3,}$/u
const LATIN_NAME = /^\p{Script=Latin}{4,}$/u
/** A capitalised word, which may be a short name. */
const CAPITALISED = /(?<![\p{L}\p{N}])\p{Lu}\p{Ll}{2,}(?!\p{L})/gu

/**
 * Returns a function that decides whether the query contains a name. Ignores accents. A Korean name may be followed by
 * a particle, a Russian one may be inflected, and names in scripts without spaces may be anywhere. A capitalised word may be
 * the short form of a name, unless it is a function word.
 * @param plain the query's words @param functionWords those of its language
 */
function nameFinder(
  query: string,
  plain: readonly string[],
  functionWords: ReadonlySet<string>,
): (name: string) => boolean {
  const normalized = (text: string) =>
    text
      .toLowerCase()
      .normalize('NFD')
      .replace(/\p{M}+/gu, '')
      .normalize('NFC')
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
  const lower = ` ${normalized(query)} `
  const capitalised = (query.match(CAPITALISED) ?? []).filter((word) => !functionWords.has(word.toLowerCase()))
  let stems: Set<string> | null = null
  return (name) => {
    const searched = normalized(name).trim()
    if (lower.includes(` ${searched} `)) return true
    if (UNSPACED_NAME.test(searched)) return lower.includes(searched)
    if (HANGUL_NAME.test(searched)) return lower.includes(` ${searched}`)
    if (LATIN_NAME.test(name)) return capitalised.some((word) => isShortFor(word, name))
    if (!CYRILLIC_NAME.test(name)) return false
    stems ??= new Set(plain.map((word) => stem(word, 'ru')))
    return stems.has(stem(name, 'ru'))
  }
}

/**
 * Whether a turn may report on one of the periods: it was created in the period or within REPORTED_WITHIN_MS after it.
 * @param at creation time of the turn, in milliseconds since the epoch
 */
export function mayReportOn(periodsNamed: readonly (Period | DayRange)[], at: number): boolean {
  const year = new Date(at).getUTCFullYear()
  return periodsNamed.some((period) => {
    if ('from' in period) return at >= period.from && at < period.to + REPORTED_WITHIN_MS
    // A period without a year may be in the year of the turn or in the year before.
    const years = period.year === null ? [year - 1, year] : [period.year]
    return years.some((y) => {
      const from = Date.UTC(y, period.month ?? 0, period.day ?? 1)
      const to = period.day === null ? Date.UTC(y, (period.month ?? 0) + period.months, 1) : from + DAY_MS
      return at >= from && at < to + REPORTED_WITHIN_MS
    })
  })
}
