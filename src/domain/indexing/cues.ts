// Computes the cues of a turn: ranking signals other than its terms. A cue says that the turn ends with a question, or
// that it states a time, an amount, a name or something about its author. The rules are approximate and written for
// English; texts in other languages seldom match. Cues are stored as bits with the turn's terms, so that ranking does
// not read the text.

import { MONTHS, SEASONS } from '../../text/calendar.ts'

/** The bit of each cue. */
export const Cue = {
  /** The turn ends with a question, so it seldom answers one. */
  ASKS: 1,
  STATES_TIME: 2,
  STATES_AMOUNT: 4,
  /** A capitalised word inside a sentence, other than the actor's name. */
  STATES_NAME: 8,
  /** The text speaks of its author in the first person. */
  STATES_SELF: 16,
} as const

const WEEKDAYS = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday'
const TIME = new RegExp(
  '\\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|(?:last|next)|weeks?|weekends?|months?|years?|days?|'
    + `morning|evening|night|${MONTHS.join('|')}|${WEEKDAYS}|${Object.keys(SEASONS).join('|')}|(?:19|20)\\d\\d)\\b`,
  'i',
)
const AMOUNT = /\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|few|couple|several)\b/i
const FIRST_PERSON = /(?<![\p{L}'’])(?:i|me|my|mine|im|ive|we|us|our|ours)(?!\p{L})/iu
/**
 * A capitalised word that does not begin a sentence: it follows a space after a lower-case letter, `,`, `;` or a quote.
 */
const INNER_CAPITAL = /(?<=[\p{Ll},;'"] )\p{Lu}\p{Ll}+/gu

/** Returns the cues of a text, as bits of Cue. `actor` contains the words of the actor's name, in lower case. */
export function cuesOf(text: string, actor: ReadonlySet<string>): number {
  let cues = 0
  if (asks(text)) cues |= Cue.ASKS
  if (TIME.test(text)) cues |= Cue.STATES_TIME
  if (AMOUNT.test(text)) cues |= Cue.STATES_AMOUNT
  if (FIRST_PERSON.test(text)) cues |= Cue.STATES_SELF
  for (const [word] of text.matchAll(INNER_CAPITAL)) {
    if (actor.has(word.toLowerCase())) continue
    cues |= Cue.STATES_NAME
    break
  }
  return cues
}

/**
 * Whether the last line ends with a question mark. Ignores blank lines and lines that start with `[` (`[image: …]`).
 */
export function asks(text: string): boolean {
  const last = text
    .trimEnd()
    .split('\n')
    .findLast((line) => line.trim() !== '' && !line.startsWith('['))
  return last !== undefined && last.trimEnd().endsWith('?')
}
