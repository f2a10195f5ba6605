// Resolves the periods of statements: "since 2019", "from 2015 to 2018", "until last May", "for two years until 2020". A
// period is as precise as its words: it begins and ends with the first moment of the time that they name (times.ts).

import { numberOf, readTime } from './times.ts'

export type Period = {
  /** The text without the period. */
  rest: string
  from: Date | null
  to: Date | null
  /** The beginning in words: "2019" or "May 2020"; '' without a beginning. */
  since: string
}

const TIME = String.raw`([\w,' -]{3,30}?)`
const END = String.raw`(?=$|[.,;]|\s(?:and|but|so|when|as|because|which|where|at|with|to|for)\b)`
const LENGTH =
  String.raw`for (?:about |around |over |almost |nearly |more than |like |at least |the (?:past|last) )?`
  + String.raw`(\d{1,2}|an?|one|two|a couple of|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: or so)? `
  + String.raw`(year|month)s?`
const PERIODS = {
  lengthUntil: new RegExp(String.raw`\b${LENGTH} (?:until|till) ${TIME}${END}`, 'i'),
  fromTo: new RegExp(String.raw`\b(?:from|between) ${TIME} (?:to|until|till|and|-) ${TIME}${END}`, 'i'),
  until: new RegExp(String.raw`\b(?:until|till) ${TIME}${END}`, 'i'),
  since: new RegExp(String.raw`\bsince ${TIME}${END}`, 'i'),
  length: new RegExp(String.raw`\b${LENGTH}(?: now| already)?${END}`, 'i'),
}
const HAS_PERIOD = /\b(?:since|until|till|from|between|for)\b/i

/** Resolves one end of a period: "2019", "May 2020", "last May", "2 May 2021", "two years ago". */
function moment(text: string, at: Date): { from: Date; when: string } | null {
  const plain = text.trim()
  for (const phrase of [`in ${plain}`, plain, `on ${plain}`, `last ${plain}`]) {
    const time = readTime(phrase, at, true)
    if (time && time.rest === '') return time
  }
  return null
}

/** Returns the time `count` years or months before. Of months and years, only the first days count. */
const before = (time: Date, count: number, unit: string) =>
  new Date(
    Date.UTC(
      time.getUTCFullYear() - (unit === 'year' ? count : 0),
      unit === 'year' ? time.getUTCMonth() : time.getUTCMonth() - count,
      time.getUTCDate(),
    ),
  )

/**
 * Reads the period of a statement; null if the text has none that can be resolved.
 * @param at creation time of the turn
 * @param isOngoing whether a length alone ("for two years") ends with the turn, as in "I have worked for two years"
 */
export function readPeriod(text: string, at: Date, isOngoing: boolean): Period | null {
  if (!HAS_PERIOD.test(text)) return null
  const without = (match: RegExpExecArray) =>
    `${text.slice(0, match.index)} ${text.slice(match.index + match[0].length)}`
      .replace(/\s+/g, ' ')
      .replace(/\s+,/g, ',')
      .replace(/[\s,]+$/, '')
      .trim()
  const lengthUntil = PERIODS.lengthUntil.exec(text)
  const end = lengthUntil && moment(lengthUntil[3]!, at)
  if (lengthUntil && end) {
    const from = before(end.from, numberOf(lengthUntil[1]!)!, lengthUntil[2]!.toLowerCase())
    return { rest: without(lengthUntil), from, to: end.from, since: '' }
  }
  const fromTo = PERIODS.fromTo.exec(text)
  const [first, last] = fromTo ? [moment(fromTo[1]!, at), moment(fromTo[2]!, at)] : []
  if (fromTo && first && last && first.from < last.from)
    return { rest: without(fromTo), from: first.from, to: last.from, since: '' }
  const until = PERIODS.until.exec(text)
  const to = until && moment(until[1]!, at)
  if (until && to) return { rest: without(until), from: null, to: to.from, since: '' }
  const since = PERIODS.since.exec(text)
  const from = since && moment(since[1]!, at)
  if (since && from)
    return {
      rest: without(since),
      from: from.from,
      to: null,
      since: from.when.replace(/^(?:in|on) (?=\w+$|\w+ \d)/, ''),
    }
  return isOngoing ? ongoing(PERIODS.length.exec(text), at, without) : null
}

function ongoing(length: RegExpExecArray | null, at: Date, without: (match: RegExpExecArray) => string): Period | null {
  const [, amount, unit] = length ?? []
  if (!length || !amount || !unit) return null
  const isYears = unit.toLowerCase() === 'year'
  const start = before(at, numberOf(amount)!, unit.toLowerCase())
  const from = new Date(Date.UTC(start.getUTCFullYear(), isYears ? 0 : start.getUTCMonth(), 1))
  const time = readTime(isYears ? `in ${from.getUTCFullYear()}` : `${numberOf(amount)} months ago`, at, true)!
  return { rest: without(length), from, to: null, since: time.when.replace(/^in /, '') }
}
