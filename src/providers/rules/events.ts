// The rules for statements with a time: plans, ongoing activities with a start, birthdays, memories and deaths. The
// rules for past events are in past-events.ts. A plan must have a date, so that a reader of the fact knows whether it
// is over.

import { dated, pastEvent } from './past-events.ts'
import { COUNTED, RELATIVES } from './lists.ts'
import { thing } from './objects.ts'
import type { Statement } from './rule.ts'
import { MONTHS, numberOf, readTime } from './times.ts'

/** Explicit plans. */
const PLANS = new RegExp(
  "^(?:i'm|i am|we're|we are)(?: also| both| all| now| finally)* (?:planning (?:to|on)|going to|about to) "
    + '((?:go|visit|travel|move|start|fly|run|attend|meet|have|host|take|celebrate|see|buy|adopt|begin|leave|launch|'
    + 'perform|compete|volunteer|join|open|release|present|hike|camp|go on|visiting|travel(?:l)?ing|moving|starting|'
    + 'flying|running|attending|hosting|taking|going)\\b.*)$',
  'i',
)
/** Present and future forms, which are plans only with a future date. */
const COMING = new RegExp(
  "^(?:i'm|i am|we're|we are|i'll be|i will be|we'll be|we will be)(?: also| both| all| finally)* "
    + '((?:visiting|travel(?:l)?ing|moving|starting|flying|running|attending|meeting|hosting|celebrating|leaving|'
    + 'launching|performing|competing|getting married|having|going|opening|putting together|'
    + 'organi[sz]ing|planning (?=(?:an?|my|our)\\b))\\b.*)$',
  'i',
)
/** Appointments and other events, which are plans only with a future date. */
const HAVE_COMING = new RegExp(
  String.raw`^(?:i|we) have (an? (?:[\p{L}-]+ ){0,3}(?:interview|exam|appointment|meeting|wedding|flight|trip|`
    + String.raw`concert|surgery|show|race|deadline|presentation|competition|party|conference|gig|audition)\b.*)$`,
  'iu',
)
/** Infinitives of verbs that COMING matches. */
const TO_FORM: Record<string, string> = { 'getting married': 'get married' }

/** An ongoing activity. Its last three groups are the duration and its unit, or the start as month and year. */
const SINCE = new RegExp(
  String.raw`^(?:i've|i have|we've|we have) (?:now |already |actually )?been (\w+ing|married|vegan|vegetarian|`
    + String.raw`a \w+|friends)\b ?(.*?),? (?:for (?:about |around |over |almost |like |at least )?(.+?) (year|`
    + String.raw`month)s?|since ((?:january|february|march|april|may|june|july|august|september|october|november|`
    + String.raw`december)? ?(?:19|20)\d\d))(?: now| already)?$`,
  'i',
)

const BIRTHDAY = /^my birthday(?:'s| is| was) (?:on )?(.+)$/i
const BORN_ON = /^i was born (on .+)$/i
const BIRTHDAY_NOW = /^(?:it's|it is|today's|today is|tomorrow is|tomorrow's|yesterday was) my birthday\b(.*)$/i

const day = (date: Date) => `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`

function birthday(clause: string, at: Date): Statement | null {
  const text =
    BIRTHDAY.exec(clause)?.[1] ?? BORN_ON.exec(clause)?.[1] ?? (BIRTHDAY_NOW.test(clause) ? clause : undefined)
  const time = text === undefined ? null : readTime(text, at, true)
  if (!time?.day) return null
  const hasYear = /\b(?:19|20)\d\d\b/.test(text!)
  const year = hasYear ? ` ${time.day.getUTCFullYear()}` : ''
  return { predicate: 'has birthday on', object: day(time.day) + year, confidence: 0.95 }
}

/** Verbs of temporary states. */
const UNSETTLED = /^(?:thinking|trying|meaning|wanting|looking|waiting|dying|feeling|hoping|having|going|being)$/i
function since(clause: string, name: string, at: Date): Statement | null {
  const [, doing, what = '', amount, unit, from] = SINCE.exec(clause) ?? []
  if (!doing || UNSETTLED.test(doing)) return null
  const object = what === '' ? '' : thing(what, name)
  const n = amount === undefined ? null : numberOf(amount)
  if (object === null || (from === undefined && n === null)) return null
  const startDate = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - (unit === 'month' ? n! : 0), 1))
  const month = `${MONTHS[startDate.getUTCMonth()]} ${startDate.getUTCFullYear()}`
  const start = from?.trim() ?? (unit?.toLowerCase() === 'year' ? `${at.getUTCFullYear() - n!}` : month)
  const activity = [doing.toLowerCase(), object].filter(Boolean).join(' ')
  return { predicate: `has been ${activity} since`, object: start, confidence: 0.85 }
}

/** An acquaintance: "I've known Bob for 3 years". */
const ACQUAINTANCE = /^(?:i've|i have|we've|we have) known (.+?) for (?:about |around |over |almost )?(\S+) years$/i
function acquaintance(clause: string, name: string, at: Date): Statement | null {
  const [, who, years] = ACQUAINTANCE.exec(clause) ?? []
  const n = years === undefined ? null : numberOf(years)
  const object = who === undefined ? null : thing(who, name)
  return n === null || object === null
    ? null
    : { predicate: `has known ${object} since`, object: `${at.getUTCFullYear() - n}`, confidence: 0.85 }
}

function plan(clause: string, name: string, at: Date): Statement | null {
  const time = readTime(clause, at, false)
  if (!time?.isFuture) return null
  const what = PLANS.exec(time.rest)?.[1] ?? COMING.exec(time.rest)?.[1]
  if (what) {
    const object = dated(TO_FORM[what.toLowerCase()] ?? what, time.when, name)
    return { predicate: 'plans on', object, confidence: 0.7 }
  }
  const coming = HAVE_COMING.exec(time.rest)?.[1]
  return coming ? { predicate: 'will have', object: dated(coming, time.when, name), confidence: 0.75 } : null
}

/** Memories that the speaker will not forget. */
const FOND = /^(?:i'll|i will) (?:always remember|never forget|always cherish) (?!how|when|what)(.+)$/i
function remembered(clause: string, name: string, at: Date): Statement | null {
  const what = FOND.exec(clause)?.[1]
  if (what === undefined) return null
  const time = readTime(what, at, true)
  const object = time ? dated(time.rest, time.when, name) : thing(what, name)
  return { predicate: 'will always remember', object, confidence: 0.75 }
}

/** The death of a relative, a friend or a pet. */
const LOST = new RegExp(
  `^(?:my|our) ((?:(?:late|dear|old|little|big|older|younger) )?(?:${RELATIVES}|${COUNTED})) `
    + '(?:just |sadly |recently |also |suddenly )*(?:passed away|passed|died)(?=$|,| (?:last|this|in|two|three|an?|'
    + '\\d|when|after|from|yesterday|today|and|back|some|many|suddenly|peacefully|on \\w+day)\\b)(.*)$',
  'iu',
)
function mourned(clause: string, name: string, at: Date): Statement | null {
  const [, who, more = ''] = LOST.exec(clause) ?? []
  if (!who) return null
  const time = readTime(more, at, true)
  return { predicate: 'mourns', object: `${name}'s ${who}${time ? `, who died ${time.when}` : ''}`, confidence: 0.8 }
}

/** A clause that begins with a time: "Last week, I went …". The time is moved to the end. */
const FRONTED = new RegExp(
  String.raw`^((?:last|this|next|the day|yesterday|today|tomorrow|on|in|a|an|two|three|`
    + String.raw`\d+)\b[^,]{0,30}?),? (?=(?:i|we|my)\b)(.+)$`,
  'i',
)

/** Reads a statement with a time from a clause in the first person; null if there is none. */
export function eventOf(clause: string, name: string, at: Date): Statement | null {
  const [, time, rest] = FRONTED.exec(clause) ?? []
  const text = time && rest && readTime(time, at, true) ? `${rest} ${time}` : clause
  return (
    birthday(text, at)
    ?? since(text, name, at)
    ?? acquaintance(text, name, at)
    ?? plan(text, name, at)
    ?? remembered(text, name, at)
    ?? mourned(text, name, at)
    ?? pastEvent(text, name, at)
  )
}
