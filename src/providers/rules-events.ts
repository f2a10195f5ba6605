// The rules for what has a time: what somebody did on a day, plans for one, since when they do it, their birthday.
// A deed or a plan without a clear time is no fact: it would be read later as if it were of that later day.

import { thing } from './rules-objects.ts'
import type { Told } from './rules-patterns.ts'
import { MONTHS, numberOf, readTime, RELATIVE } from './rules-times.ts'

/** Deeds worth remembering, and how they are told. */
const DEEDS = new RegExp(
  "^(?:i|we)(?:'ve| have)? (?:just |also |finally |recently |actually |even |both |all )*(" +
    'went (?:to|on|for)|visited|bought|got|adopted|attended|started|finished|completed|ran|joined|signed up for|' +
    'read|made|met(?: with)?|celebrated|won|' +
    'quit|graduated from|applied (?:to|for)|passed|failed|sold|lost|broke|saw|watched|hosted|organi[sz]ed|launched|' +
    'released|published|planted|baked|cooked|painted|built|wrote|tried|booked|ordered|hiked|climbed|took|had|gave|' +
    'traveled to|travelled to|flew to|drove to|moved to|came back from|returned from|opened|proposed to|' +
    'participated in|took part in|competed in|volunteered at|performed (?:at|in)|' +
    'interviewed (?:at|with|for)) (.+)$', 'i')
/** "went camping last week" */
const WENT = /^(?:i|we) (?:just |also |finally |recently |both |all )*(went \w+ing)\b ?(.*)$/i
/** What one has had or taken that is worth it. */
const HAD = new RegExp(
  String.raw`^an? (?:\w+ ){0,2}(?:surgery|operation|accident|baby|meeting|interview|exam|test|party|picnic|wedding|` +
    String.raw`appointment|checkup|check-up|concert|show|class|workshop|trip|race|competition|gig|road ?trip|` +
    String.raw`vacation|break|course|injury)\b`, 'i')

const PLANS = new RegExp(
  "^(?:i'm|i am|we're|we are)(?: also| both| all| now| finally)* (?:planning (?:to|on)|going to|about to) " +
    '((?:go|visit|travel|move|start|fly|run|attend|meet|have|host|take|celebrate|see|buy|adopt|begin|leave|launch|' +
    'perform|compete|volunteer|join|open|release|present|hike|camp|go on|visiting|travel(?:l)?ing|moving|starting|' +
    'flying|running|attending|hosting|taking|going)\\b.*)$', 'i')
const COMING = new RegExp(
  "^(?:i'm|i am|we're|we are|i'll be|i will be|we'll be|we will be)(?: also| both| all| finally)* " +
    '((?:visiting|travel(?:l)?ing|moving|starting|flying|running|attending|meeting|hosting|celebrating|leaving|' +
    'launching|performing|competing|getting married|having|going)\\b.*)$', 'i')
const HAVE_COMING = new RegExp(
  String.raw`^(?:i|we) have (an? (?:[\p{L}-]+ ){0,3}(?:interview|exam|appointment|meeting|wedding|flight|trip|` +
    String.raw`concert|surgery|show|race|deadline|presentation|competition|party|conference|gig|audition)\b.*)$`, 'iu')
const TO_FORM: Record<string, string> = { 'getting married': 'get married' }

const SINCE = new RegExp(
  String.raw`^(?:i've|i have|we've|we have) (?:now |already |actually )?been (\w+ing|married|vegan|vegetarian|` +
    String.raw`a \w+|friends)\b ?(.*?),? (?:for (?:about |around |over |almost |like |at least )?(.+?) (year|` +
    String.raw`month)s?|since ((?:january|february|march|april|may|june|july|august|september|october|november|` +
    String.raw`december)? ?(?:19|20)\d\d))(?: now| already)?$`, 'i')

const BIRTHDAY = /^my birthday(?:'s| is| was) (?:on )?(.+)$/i
const BORN_ON = /^i was born (on .+)$/i
const BIRTHDAY_NOW = /^(?:it's|it is|today's|today is|tomorrow is|tomorrow's|yesterday was) my birthday\b(.*)$/i

/** What an event's object is, with its time. */
function dated(object: string, when: string, name: string): string | null {
  const clean = thing(object, name)
  return clean && !RELATIVE.test(clean) ? `${clean} ${when}` : null
}

const day = (date: Date) => `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`

function birthday(clause: string, at: Date): Told | null {
  const text = BIRTHDAY.exec(clause)?.[1] ?? BORN_ON.exec(clause)?.[1] ??
    (BIRTHDAY_NOW.test(clause) ? clause : undefined)
  const time = text === undefined ? null : readTime(text, at, true)
  if (!time?.day) return null
  const hasYear = /\b(?:19|20)\d\d\b/.test(text!)
  const year = hasYear ? ` ${time.day.getUTCFullYear()}` : ''
  return { predicate: 'has birthday on', object: day(time.day) + year, confidence: 0.95 }
}

/** What one is at for a while only. */
const UNSETTLED = /^(?:thinking|trying|meaning|wanting|looking|waiting|dying|feeling|hoping|having|going|being)$/i
function since(clause: string, name: string, at: Date): Told | null {
  const [, doing, what = '', amount, unit, from] = SINCE.exec(clause) ?? []
  if (!doing || UNSETTLED.test(doing)) return null
  const object = what === '' ? '' : thing(what, name)
  const n = amount === undefined ? null : numberOf(amount)
  if (object === null || (from === undefined && n === null)) return null
  const then = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - (unit === 'month' ? n! : 0), 1))
  const month = `${MONTHS[then.getUTCMonth()]} ${then.getUTCFullYear()}`
  const start = from?.trim() ?? (unit?.toLowerCase() === 'year' ? `${at.getUTCFullYear() - n!}` : month)
  const what_ = [doing.toLowerCase(), object].filter(Boolean).join(' ')
  return { predicate: `has been ${what_} since`, object: start, confidence: 0.85 }
}

/** Where everybody goes every day. */
const DAILY = new RegExp(
  String.raw`^(?:bed|sleep|work|school|lunch|dinner|breakfast|church|town|hell|pieces|waste|great|see|get|find|` +
    String.raw`check)\b`, 'i')

function deed(clause: string, name: string, at: Date): Told | null {
  const time = readTime(clause, at, true)
  if (!time) return undated(clause, name)
  if (time.isFuture) return null
  const [, went, with_ = ''] = WENT.exec(time.rest) ?? []
  if (went) {
    const place = with_.trim().replace(/(?:,|\s(?:and|but|so)\s).*$/i, '')
    const isPlace = /^(?:with|in|at|to|on|near|for|through|along)\b/i.test(place)
    const more = place === '' ? '' : isPlace ? thing(place, name) : null
    const object = more === null ? null : [more, time.when].filter(Boolean).join(' ')
    return { predicate: went.toLowerCase(), object, confidence: 0.8 }
  }
  const [, verb, what] = DEEDS.exec(time.rest) ?? []
  if (/^went /i.test(verb ?? '') && DAILY.test(what ?? '')) return null
  if (!verb || !what) return null
  const isTaking = /^(?:my|the|our) .+ to\b/i.test(what)
  if (/^(?:had|took|gave)$/i.test(verb) && !HAD.test(what) && !isTaking) return null
  if (/^got\b/i.test(verb) && !/^(?:an?|two|three|my) /i.test(what)) return null
  if (/^(?:lost|met|saw|tried|made|started)$/i.test(verb) && /^to\b/i.test(what)) return null
  return { predicate: verb.toLowerCase(), object: dated(what, time.when, name), confidence: 0.8 }
}

/** Deeds that stay so, whenever they were. */
const LASTING = new RegExp(
  "^(?:i|we)(?:'ve| have)? (?:just |also |finally |recently |actually |even |both |all )*(" +
    'joined|adopted|bought|signed up for|finished|completed|won|graduated from|visited|attended|applied (?:to|for)|' +
    'founded|published|enrolled in|built|' +
    'participated in|took part in|volunteered (?:at|for)|went to) ' +
    '((?:an?|my|two|three|the \\p{Lu}|\\p{Lu}|\\p{L}+s\\b).*)$', 'iu')

function undated(clause: string, name: string): Told | null {
  const [, verb, what] = LASTING.exec(clause) ?? []
  if (!verb || !what || (/^went /i.test(verb) && DAILY.test(what))) return null
  return { predicate: verb.toLowerCase(), object: thing(what.replace(RECENTLY, ''), name), confidence: 0.7 }
}
const RECENTLY = new RegExp(
  String.raw`,? (?:recently|lately|the other day|a few \w+ ago|some time ago|a while (?:ago|back)|` +
    String.raw`not long ago)\b.*$`, 'i')

const KNOWN = /^(?:i've|i have|we've|we have) known (.+?) for (?:about |around |over |almost )?(\S+) years$/i
function known(clause: string, name: string, at: Date): Told | null {
  const [, who, years] = KNOWN.exec(clause) ?? []
  const n = years === undefined ? null : numberOf(years)
  const object = who === undefined ? null : thing(who, name)
  return n === null || object === null ? null
    : { predicate: `has known ${object} since`, object: `${at.getUTCFullYear() - n}`, confidence: 0.85 }
}

function plan(clause: string, name: string, at: Date): Told | null {
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

/** A time at the beginning goes to the end: "Last week, I went …". */
const FRONTED = new RegExp(
  String.raw`^((?:last|this|next|the day|yesterday|today|tomorrow|on|in|a|an|two|three|` +
    String.raw`\d+)\b[^,]{0,30}?),? (?=(?:i|we|my)\b)(.+)$`, 'i')

/** What a clause in the first person tells of a time; null for nothing. */
export function eventOf(clause: string, name: string, at: Date): Told | null {
  const [, time, rest] = FRONTED.exec(clause) ?? []
  const text = time && rest && readTime(time, at, true) ? `${rest} ${time}` : clause
  return birthday(text, at) ?? since(text, name, at) ?? known(text, name, at) ?? plan(text, name, at) ??
    deed(text, name, at)
}

