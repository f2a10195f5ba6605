// Reads the statements of a clause in the first person: by the frames of its verb, by the rules for plans and past events,
// or, for clauses without such a verb, by the rules for topics and for what is the speaker's own.

import type { Clause } from './clauses.ts'
import { dateOf, eventOf } from '../events.ts'
import { statementsOfFrames, type Frame, type Scene } from '../frames/frame.ts'
import { BEING_FRAMES } from '../frames/frames-being.ts'
import { DOING_FRAMES } from '../frames/frames-doing.ts'
import { EXPERIENCE_FRAMES } from '../frames/frames-experiences.ts'
import { HABIT_FRAMES, USUAL } from '../frames/frames-habits.ts'
import { HAVING_FRAMES } from '../frames/frames-having.ts'
import { HOME_FRAMES } from '../frames/frames-home.ts'
import { LIKES_FRAMES } from '../frames/frames-likes.ts'
import { WISH_FRAMES } from '../frames/frames-wishes.ts'
import { WORK_FRAMES } from '../frames/frames-work.ts'
import { GREETING_RULES, MY_RULES, OTHER_RULES } from '../mine.ts'
import { byEvent, pastEvent } from '../past-events.ts'
import { readPeriod } from '../periods.ts'
import {
  FORMER,
  PAST_TENSE,
  PERFECT,
  PERFECT_PROGRESSIVE,
  predicationOf,
  PRESENT,
  PROGRESSIVE,
  type Predication,
} from './predication.ts'
import type { Rule, Statement } from '../rule.ts'
import { VALUES } from '../values.ts'
import { BASE, ING, PAST, verbOf } from './verbs.ts'

/** All frames. Of the frames of a verb, the first that matches and finds an object is used. */
const FRAMES: Frame[] = [
  ...[...BEING_FRAMES, ...HOME_FRAMES, ...WORK_FRAMES, ...HAVING_FRAMES],
  ...[...LIKES_FRAMES, ...HABIT_FRAMES, ...WISH_FRAMES, ...EXPERIENCE_FRAMES, ...DOING_FRAMES],
]

/** Maximum number of clauses that share a subject: "I moved to Lyon, and work as a nurse, and …". */
const MAX_SHARED = 6

/** Returns the statements of a clause about the person whose name is `name`. */
export function statementsOf(clause: Clause, name: string, at: Date): Statement[] {
  const found: Statement[] = []
  const withOccasion = (words: string) => (clause.occasion === '' ? words : `${words} ${clause.occasion}`.trim())
  let text: string | null = clause.text
  for (let n = 0; text !== null && n < MAX_SHARED; n++) {
    const predication = predicationOf(text)
    if (!predication) return [...found, ...withoutVerb({ ...clause, text: withOccasion(text) }, name, at)]
    const shared = continuation(predication)
    const rest = shared ? predication.rest.slice(0, shared.index) : predication.rest
    const own: string = shared ? text.slice(0, text.length - (predication.rest.length - shared.index)) : text
    found.push(
      ...ofPredication({ ...clause, text: withOccasion(own) }, { ...predication, rest: withOccasion(rest) }, name, at),
    )
    text = shared ? shared.text : null
  }
  return found
}

/** Adds the kind that the question before the clause names: "What's your favorite tea? I love sencha". */
const answering = (kind: string, given: Statement): Statement =>
  given.predicate === 'likes' && given.object && !given.object.includes(' ')
    ? { ...given, predicate: `has as a favorite ${kind}` }
    : given

function ofPredication(clause: Clause, predication: Predication, name: string, at: Date): Statement[] {
  const greeting = predication.verb === 'be' ? firstOf(GREETING_RULES, clause, name) : []
  if (greeting.length > 0) return greeting
  const isOngoing = (predication.tense & (PERFECT | PERFECT_PROGRESSIVE)) > 0
  const isStative = predication.tense & (PRESENT | PROGRESSIVE | PAST_TENSE | PERFECT | PERFECT_PROGRESSIVE | FORMER)
  const scene: Scene = { name, at, predication, period: isStative ? readPeriod(predication.rest, at, isOngoing) : null }
  const event = eventOf(clause.text, scene)
  if (event && event.object !== null) return [event]
  const framed = statementsOfFrames(FRAMES, scene)
  if (framed.length > 0) return clause.asked === '' ? framed : framed.map((each) => answering(clause.asked, each))
  const past = pastEvent(scene)
  return past && past.object !== null ? [past] : []
}

/** Reads a clause that does not begin with a subject in the first person and a known verb. */
function withoutVerb(clause: Clause, name: string, at: Date): Statement[] {
  if (/^(?:i|we)\b/i.test(clause.text)) return []
  const date = dateOf(clause.text, name, at)
  if (date && date.object !== null) return [date]
  const mine = /^(?:my|our|one of my)\b/i.test(clause.text) ? firstOf(MY_RULES, clause, name) : []
  if (mine.length > 0) return mine
  if (MENTIONS_SPEAKER.test(clause.text)) {
    const other = firstOf(TOPIC_RULES, clause, name)
    if (other.length > 0) return other
  }
  const event = byEvent(clause.text, name, at)
  return event && event.object !== null ? [event] : []
}
const TOPIC_RULES = [...GREETING_RULES, ...OTHER_RULES, ...VALUES]
const MENTIONS_SPEAKER = /\b(?:me|my|our|dream|decision|decided|this is)\b/i

/** Returns the statements of the first rule that matches and returns any. */
function firstOf(rules: readonly Rule[], clause: Clause, name: string): Statement[] {
  for (const [pattern, read] of rules) {
    const match = pattern.exec(clause.text)
    if (!match) continue
    const statements = read(
      [...match].map((group) => group?.trim() ?? ''),
      { name, isGreeting: clause.isGreeting },
    )
    const list = (Array.isArray(statements) ? statements : [statements]).filter(
      (each): each is Statement => !!each && each.object !== null,
    )
    if (list.length > 0) return list
  }
  return []
}

/** A conjunction before a verb whose subject is left out: "I moved to Lyon and work as a nurse". */
const AND = /,? (?:and|but)(?: (?:then|also|now|still|even|just|currently|really))* ([\p{L}']+)(?= ([\p{L}']+))/giu
/** Verbs after which "and" continues an infinitive: "I want to move and work". */
const OPEN = new Set([
  'want',
  'need',
  'hope',
  'try',
  'plan',
  'decide',
  'wish',
  'start',
  'begin',
  'let',
  'help',
  'go',
  'come',
])
/** Nouns that are also verbs in the base form, which begin a clause only before these words. */
const CLEAR = /^(?:as|at|in|for|to|on|with|the|an?|my|our|two|three|some|from|near|about|not|it|them|every|with)$/i
const BARE_NOUNS = new Set(
  `love like work play walk dance travel study drive exercise cook visit text chat talk date act game program
  fish camp hike ski surf run look need want help drink watch test code box paint draw train practice design record`.split(
    /\s+/,
  ),
)

/** Words of an inner clause, which "and" may continue: "I love how you write and sing". */
const INNER = /\b(?:you|he|she|they|it|who|that|which|how|what|when|where|why)\b|\bto (?!(?:the|an?|my)\b)\p{Ll}/u

/** Returns the next clause that shares the subject of a predication, and where it begins in the text after the verb. */
function continuation({ tense, verb, rest, adverbs }: Predication): { index: number; text: string } | null {
  // In "I usually read and paint", the adverb belongs to both verbs.
  if (adverbs.some((each) => USUAL.has(each))) return null
  if (OPEN.has(verb) || !(tense & (PRESENT | PAST_TENSE | PROGRESSIVE)) || /^to (?!the\b|an?\b|my\b)\p{Ll}/u.test(rest))
    return null
  for (const match of rest.matchAll(AND)) {
    if (INNER.test(rest.slice(0, match.index))) return null
    const word = match[1]!.toLowerCase()
    const found = verbOf(word)
    if (!found && !/^(?:don't|can't|am|was)$/.test(word)) continue
    // In "I just got home and started playing", the second verb is about the moment, too.
    if (found?.lemma === 'start') return null
    const forms = found?.forms ?? BASE
    const isPast = tense === PAST_TENSE && (forms & PAST) > 0
    const isPresent =
      (tense === PRESENT || (tense === PAST_TENSE && CLEAR.test(match[2]!)))
      && (forms & BASE) > 0
      && ((verb !== 'be' && !BARE_NOUNS.has(word)) || CLEAR.test(match[2]!))
    const isProgressive = tense === PROGRESSIVE && (forms & ING) > 0 && verb !== 'be'
    if (!isPast && !isPresent && !isProgressive) continue
    const start = match.index + match[0].length - match[1]!.length
    const subject = isProgressive ? "I'm" : 'I'
    return { index: match.index, text: `${subject} ${rest.slice(start)}` }
  }
  return null
}
