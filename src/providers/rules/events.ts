// The rules for statements with a time: plans, ongoing activities with a start, birthdays, memories and deaths. The
// rules for past events are in past-events.ts. A plan must have a date, so that a reader of the fact knows whether it
// is over.

import type { Scene } from './frames/frame.ts'
import { COUNTED, RELATIVES } from './lists.ts'
import { standalone, thing } from './sentences/objects.ts'
import { dated } from './past-events.ts'
import { FUTURE, PERFECT, PERFECT_PROGRESSIVE, PROGRESSIVE } from './sentences/predication.ts'
import type { Statement } from './rule.ts'
import { MONTHS, readTime } from './times.ts'

/** Explicit plans. */
const PLANS = new RegExp(
  "^(?:i'm|i am|we're|we are)(?: also| both| all| now| finally)* (?:planning (?:to|on)|going to|about to) "
    + '((?:go|visit|travel|move|start|fly|run|attend|meet|have(?! to)|host|take|celebrate|see|buy|adopt|begin|'
    + 'leave|launch|perform|compete|volunteer|join|open|release|present|hike|camp|go on|visiting|'
    + 'travel(?:l)?ing|moving|starting|flying|running|attending|hosting|taking|going(?! to (?:have|need|be|do|'
    + 'try|get|let|make|take|go|see)\\b))\\b.*)$',
  'i',
)
/** Present and future forms, which are plans only with a future date. */
const COMING = new RegExp(
  "^(?:i'm|i am|we're|we are|i'll be|i will be|we'll be|we will be)(?: also| both| all| finally)* "
    + '((?:visiting|travel(?:l)?ing|moving|starting|flying|running|attending|meeting|hosting|celebrating|'
    + 'leaving|launching|performing|competing|getting married|having|going(?! to (?:have|need|be|do|try|get|'
    + 'let|make|take|go|see)\\b)|opening|putting together|organi[sz]ing|planning (?=(?:an?|my|our)\\b))\\b.*)$',
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
const UNSETTLED = new RegExp(
  String.raw`^(?:thinking|trying|meaning|wanting|looking|waiting|dying|feeling|hoping|having|going|`
    + String.raw`being|living|working|studying|volunteering|getting)$`,
  'i',
)
/** States of "I've been … since". */
const STATE = /^(married|vegan|vegetarian|a \w+|friends|sober|pescatarian|together|gluten free|gluten-free|diabetic)$/i

/** Reads an ongoing activity with its beginning: "I've been playing chess for five years". */
function ongoing({ predication, period, name }: Scene): Statement | null {
  if (!period?.since || predication.isDenied) return null
  const { tense, form } = predication
  const rest = period.rest.replace(/ (?:now|already)$/i, '')
  const isActivity = tense === PERFECT_PROGRESSIVE && !UNSETTLED.test(form)
  const state = tense === PERFECT && predication.verb === 'be' ? STATE.exec(rest)?.[1] : undefined
  if (!isActivity && !state) return null
  const object = state ?? (rest === '' ? '' : standalone(rest, name))
  if (object === null) return null
  // "We've been together" leaves out with whom.
  const lasting = state?.toLowerCase().replace(/^together$/, 'in a relationship')
  const activity = lasting ?? [form, object].filter(Boolean).join(' ')
  return { predicate: `has been ${activity} since`, object: period.since, confidence: 0.85, validFrom: period.from }
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
  return coming
    ? {
        predicate: 'will have',
        object: dated(coming.replace(/ coming up\b.*$/i, ''), time.when, name),
        confidence: 0.75,
      }
    : null
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

/** Reads a statement with a time that is no verb frame's; null if there is none. */
export function eventOf(clause: string, scene: Scene): Statement | null {
  const { tense, verb, isDenied } = scene.predication
  const { name, at } = scene
  const memory = tense === FUTURE ? remembered(clause, name, at) : null
  if (memory || isDenied) return memory
  const isPlan = tense & (PROGRESSIVE | FUTURE) || verb === 'have' || verb === 'be' || verb === 'plan'
  return ongoing(scene) ?? (isPlan ? plan(clause, name, at) : null) ?? (verb === 'be' ? birthday(clause, at) : null)
}

/** Reads a date of birth or death: "My birthday is on May 3rd", "My grandma passed away last year". */
export const dateOf = (clause: string, name: string, at: Date): Statement | null =>
  birthday(clause, at) ?? mourned(clause, name, at)
