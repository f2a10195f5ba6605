// The minutes of a conversation: lines under the four headings of a summary, in the form that the extractive
// summarizer writes and reads again. Recognises decisions, open issues and next steps by rules for English. Pure.

import { terms } from '../words/words.ts'

export type Heading = 'Topic' | 'Decisions' | 'Open issues' | 'Next steps'
/** All headings, in the order in which a summary has them. */
export const HEADINGS: readonly Heading[] = ['Topic', 'Decisions', 'Open issues', 'Next steps']

/** Decisions and agreements. */
const DECISION = new RegExp(
  String.raw`^(?:decision|decided|agreed|agreement|resolved|settled|conclusion|final answer|verdict)\b[:,]|`
    + String.raw`\b(?:i|we|they|he|she|team|board|committee|everyone|group|family|client|`
    + String.raw`management)(?:'ve| have| has)? `
    + String.raw`(?:all |both |just |finally |now |already |also |unanimously |officially |jointly |`
    + String.raw`then )*(?:decided|agreed|chose|`
    + String.raw`settled on|opted|picked|approved|confirmed|signed off|voted|concluded|resolved to|`
    + String.raw`committed to|ruled out)\b|`
    + String.raw`\b(?:was|were|been|is|are) (?:now |finally |unanimously |officially )*(?:decided|`
    + String.raw`agreed|approved|settled|chosen|signed off|ruled out)\b|`
    + String.raw`\b(?:let's|we'll|we will|i'll|we're|we are|i'm|i am) (?:go|going|stick|sticking|`
    + String.raw`proceed) (?:ahead )?with\b|`
    + String.raw`\b(?:it's settled|that's settled|it's a deal|we have a deal|final decision|the `
    + String.raw`decision is|the verdict is|made up (?:my|our) minds?|`
    + String.raw`the plan is to|in agreement|works for (?:me|us|everyone|everybody|both)|it is then)\b|`
    + String.raw`^(?:ok|okay|yes|great|perfect|fine|agreed|deal)?[,:.!]? ?[^,.]{1,40} it is[.!]*$`,
  'i',
)
/** Matters that are not settled. */
const OPEN = new RegExp(
  String.raw`\b(?:still|also|yet|first)? ?(?:need|needs|have|has) to (?:still )?(?:decide|choose|`
    + String.raw`pick|figure out|find out|work out|settle|agree|clarify|determine|resolve|select|`
    + String.raw`check (?:if|whether))\b|`
    + String.raw`\bstill (?:need|needs|have|has|must|missing|unclear|open|undecided|unsure|looking for|`
    + String.raw`waiting|unresolved|pending|unknown|to be|no)\b|`
    + String.raw`\b(?:haven't|hasn't|have not|has not|not yet|didn't|did not) (?:yet )?(?:been `
    + String.raw`)?(?:decided?|chosen|choose|agreed?|settled?|picked?|figured out|confirmed?|found out|`
    + String.raw`found|resolved?|heard back|worked out)\b|`
    + String.raw`\b(?:not sure|unsure|undecided|unclear|uncertain|no idea|don't know|do not know|`
    + String.raw`nobody knows|doesn't know|can't decide|torn between) (?:yet |about |on |of )?(?:if|`
    + String.raw`whether|which|who|what|when|where|how|between|the|our|my)\b|`
    + String.raw`\b(?:open (?:question|issue|point)s?|unresolved|up in the air|to be (?:decided|`
    + String.raw`determined|confirmed|discussed)|tbd|tbc|remains? (?:open|unclear|to be)|`
    + String.raw`(?:waiting|wait) (?:for|on) (?!you\b|me\b|it\b)|pending|the question is|outstanding|`
    + String.raw`blocked (?:by|on)|depends on whether|we need an answer|awaiting)\b`,
  'i',
)
/** Denials of a decision: "We haven't decided", and conditions: "if we decide". */
const NOT_DECIDED = new RegExp(
  String.raw`\b(?:haven't|hasn't|not|never|didn't|if|unless|before|until|once|when|whether|`
    + String.raw`should|could|can't|cannot|need to|have to|yet to|how)\b[^.]{0,40}\b(?:decid|agree|chose|`
    + String.raw`choose|settl|approv|confirm)`,
  'i',
)
/** Commitments and arrangements. */
const NEXT = new RegExp(
  String.raw`^(?:next steps?|to-?do|action items?|reminder|action)\b|`
    + String.raw`\b(?:i|we|he|she|they|you|bob|team|someone)(?:'ll| will| shall)(?! (?:be (?:honest|`
    + String.raw`fine|ok|okay|there for)|see|never|always|admit|say|bet|miss|love|enjoy))\b|`
    + String.raw`\b(?:will|shall) (?:send|book|call|prepare|write|bring|check|ask|order|review|meet|`
    + String.raw`draft|finish|update|contact|arrange|schedule|pay|deliver|share|organi[sz]e|test|fix|`
    + String.raw`deploy|start|present|handle)\b|`
    + String.raw`\b(?:i'm|i am|we're|we are|is|are) (?:going to|gonna|planning to|scheduled|due|supposed to)\b|`
    + String.raw`\b(?:is|are|was|were) (?:scheduled|due|set|booked|planned) (?:for|on|by|at|to)\b|`
    + String.raw`\b(?:deadline|due date|by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|`
    + String.raw`tomorrow|tonight|noon|next|the end of|end of|january|february|march|april|may|june|`
    + String.raw`july|august|september|october|november|december|\d))\b|`
    + String.raw`\b(?:let's|please|don't forget to|remember to|make sure to|need to|needs to|have to|`
    + String.raw`has to|must) (?:send|book|call|prepare|write|bring|check|ask|order|review|meet|draft|`
    + String.raw`finish|update|contact|arrange|schedule|pay|deliver|share|organi[sz]e|test|fix|deploy|`
    + String.raw`buy|pick up|submit|sign|renew|register|confirm|reserve|email)\b`,
  'i',
)
/** A date or a time of the calendar. */
const DATE = new RegExp(
  String.raw`(?<!\b(?:an?|every|each|any|some|most) )\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|`
    + String.raw`\b(?:january|february|march|april|june|july|august|september|october|november|`
    + String.raw`december)\b|`
    + String.raw`\b(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?may(?: \d{1,2}(?:st|nd|rd|th)?)\b|`
    + String.raw`\b\d{1,2}(?:st|nd|rd|th)? (?:of )?may\b|`
    + String.raw`\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?\b|\b\d{1,2}(?::\d\d)? ?(?:am|`
    + String.raw`pm)\b|\b\d{1,2}:\d\d\b|\b(?:tomorrow|tonight|next (?:week|month|year|spring|summer|`
    + String.raw`autumn|fall|winter))\b|\b(?:19|20)\d\d\b`,
  'i',
)

/** Whether the sentence names a date or a time of the calendar. */
export const hasDate = (sentence: string): boolean => DATE.test(sentence)

const isQuestion = (sentence: string) => /\?["')\]]*$/.test(sentence)

/**
 * Returns the heading under which a statement belongs; 'Topic' for one that is no decision, open issue or next
 * step. A question is an open issue only if nobody answers it (see `isAnswer`), which the caller checks.
 */
export function headingOf(sentence: string): Heading {
  const plain = sentence.replaceAll('’', "'")
  if (isQuestion(plain)) return ISSUE_QUESTION.test(plain) ? 'Open issues' : 'Topic'
  if (OPEN.test(plain)) return 'Open issues'
  if (DECISION.test(plain) && !NOT_DECIDED.test(plain)) return 'Decisions'
  if (NEXT.test(plain) || (DATE.test(plain) && !PAST.test(plain))) return 'Next steps'
  return 'Topic'
}

/** A question about a matter to settle; questions about the other person's life are not open issues. */
const ISSUE_QUESTION = new RegExp(
  String.raw`\b(?:should|shall|do|can|could|will|must|are) (?:we|i|they|the \w+)\b|^(?:who|`
    + String.raw`which|when|where|what|how (?:many|much|long|do we)|whether)\b(?!.*\b(?:you|your|yours|`
    + String.raw`up)\b)|\bwho(?:'s| is| will| can| should)?\b.*\b(?:bring|book|pay|call|take|own|handle|`
    + String.raw`send|write|do)`,
  'i',
)
/** Statements about the past, whose date is no appointment. */
const PAST = new RegExp(
  String.raw`\b(?:was|were|went|had|did|got|came|saw|made|took|said|told|started|began|since|`
    + String.raw`ago|last|yesterday|born|used to|visited|bought|met|\w{3,}ed)\b`,
  'i',
)

/** Verbs that settle a matter. */
const SETTLING = new RegExp(
  String.raw`\b(?:decided|agreed|chose|chosen|picked|settled|booked|found|confirmed|reserved|`
    + String.raw`ordered|fixed|solved|resolved|sorted|done|finished|sent|paid|signed|approved|received|`
    + String.raw`got|heard back|answered|hired|bought|arranged|scheduled|completed|it is|will be|going `
    + String.raw`with|go with|works? for)\b`,
  'i',
)
/** Replies that answer nothing. */
const NO_ANSWER = new RegExp(
  String.raw`^(?:hmm+|not sure|no idea|good question|i don't know|idk|don't know|let me|i'll `
    + String.raw`(?:check|ask|find|look|think|see)|we'll see|maybe|i guess|later|who knows|still)|`
    + String.raw`\b(?:not sure|don't know|no idea|find out|get back to you|let's see|undecided)\b`,
  'i',
)
/** Terms of settling and of asking, which do not tell a matter. */
const GENERAL = new Set(
  terms(
    'need still choose decide pick find check figure question open issue know sure whether wait get make '
      + 'go want day time week people new good thing will must settle agree confirm look think take give put '
      + 'use buy pay',
  ),
)
/** Returns the terms that tell which matter a sentence is about, without the words of `names`. */
export function matterOf(sentence: string, names: readonly string[]): Set<string> {
  const ofNames = new Set(names.flatMap((name) => terms(name)))
  return new Set(terms(sentence).filter((term) => !GENERAL.has(term) && !ofNames.has(term)))
}

/**
 * Whether the statement has a verb of settling and is no open issue itself. It settles the earlier open issues that
 * share a term of their matter with it.
 */
export function isSettling(sentence: string): boolean {
  const plain = sentence.replaceAll('’', "'")
  return SETTLING.test(plain) && !isQuestion(plain) && !OPEN.test(plain)
}

/** Whether the sentence, which follows a question of somebody else, answers it. */
export const isAnswer = (sentence: string): boolean =>
  !isQuestion(sentence) && !NO_ANSWER.test(sentence.replaceAll('’', "'"))

/** Fraction of the terms of an open issue's matter that a statement must name to settle it. */
const SETTLED_FRACTION = 1 / 3
/** Whether a settling statement about `other` settles an open issue about `matter`. */
export function isSameMatter(matter: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const shared = [...matter].filter((term) => other.has(term)).length
  return shared > 0 && shared >= matter.size * SETTLED_FRACTION
}

/** Labels at the beginning of a sentence that its heading repeats. */
const LABEL = new RegExp(
  String.raw`^(?:decision|decided|agreed|agreement|next steps?|to-?do|action(?: items?)?|`
    + String.raw`open (?:question|issue)s?|tbd|tbc|reminder): *`,
  'i',
)
/** An explanation at the end of a sentence. */
const EXPLANATION = /,? (?:because|so that)\b[^.!?]*|, (?:since|which|although|though|as|so|and|but)\b[^.!?]*/i
/** Minimum number of words that remain of a sentence without its explanation. */
const MIN_WORDS = 4

/** Returns the sentence without a label and without an explanation at its end, if enough of it remains. */
export function condensed(sentence: string): string {
  const plain = sentence.replace(LABEL, '')
  const short = plain.replace(EXPLANATION, '')
  const kept = short.split(' ').length >= MIN_WORDS && (!hasDate(plain) || hasDate(short)) ? short : plain
  return kept.charAt(0).toUpperCase() + kept.slice(1)
}

/** The lines of a summary under their headings. */
export type Minutes = Record<Heading, string[]>

const emptyMinutes = (): Minutes => ({ Topic: [], Decisions: [], 'Open issues': [], 'Next steps': [] })

/** Headings of other summarizers, with ours. */
const ALIASES: Record<string, Heading> = { 'Open:': 'Open issues', 'Next:': 'Next steps' }

/**
 * Reads a summary that `writeMinutes` or the OpenAI summarizer wrote. Lines before the first heading are lines of the
 * topic, and repeated headings are merged.
 */
export function readMinutes(summary: string): Minutes {
  const minutes = emptyMinutes()
  let heading: Heading = 'Topic'
  for (const raw of summary.split('\n')) {
    const line = raw.trim().replace(/^(?:- |Topic: )/, '')
    const found = HEADINGS.find((each) => line === `${each}:`) ?? ALIASES[line]
    if (found) heading = found
    else if (line !== '' && !minutes[heading].includes(line)) minutes[heading].push(line)
  }
  return minutes
}

/** Returns the lines under their headings, without headings that have no line; without any heading on request. */
export const writeMinutes = (minutes: Minutes, withHeadings = true): string =>
  HEADINGS.filter((heading) => minutes[heading].length > 0)
    .flatMap((heading) => [...(withHeadings ? [`${heading}:`] : []), ...minutes[heading]])
    .join('\n')
