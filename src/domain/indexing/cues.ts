// Ranking signals of a turn other than its terms: whether it ends with a question, and whether it states a time, an
// amount or a name. The rules are weak and written for English; texts in other languages seldom match. The cues are
// stored as bits next to the turn's terms, so that ranking does not read the text.

import { MONTHS, SEASONS } from '../../text/calendar.ts'

export const Cue = {
  /** The turn ends with a question, so it seldom answers one. */
  ASKS: 1,
  STATES_TIME: 2,
  STATES_AMOUNT: 4,
  /** A capitalised word inside a sentence, other than the actor's name. */
  STATES_NAME: 8,
} as const

const WEEKDAYS = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday'
const TIME = new RegExp(
  '\\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|(?:last|next)|weeks?|weekends?|months?|years?|days?|'
    + `morning|evening|night|${MONTHS.join('|')}|${WEEKDAYS}|${Object.keys(SEASONS).join('|')}|(?:19|20)\\d\\d)\\b`,
  'i',
)
const AMOUNT = /\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|few|couple|several)\b/i
/**
 * A capitalised word that follows a lower-case letter, `,`, `;` or a quotation mark, so it does not begin a sentence.
 */
const INNER_CAPITAL = /(?<=[\p{Ll},;'"] )\p{Lu}\p{Ll}+/gu

/** Returns the bits of Cue for a text. `actor` is the set of words of the actor's name, in lower case. */
export function cuesOf(text: string, actor: ReadonlySet<string>): number {
  let cues = 0
  if (asks(text)) cues |= Cue.ASKS
  if (TIME.test(text)) cues |= Cue.STATES_TIME
  if (AMOUNT.test(text)) cues |= Cue.STATES_AMOUNT
  for (const [word] of text.matchAll(INNER_CAPITAL)) {
    if (actor.has(word.toLowerCase())) continue
    cues |= Cue.STATES_NAME
    break
  }
  return cues
}

/**
 * Whether the last line ends with a question mark. Blank lines and lines that start with `[` (`[image: …]`) are
 * ignored.
 */
function asks(text: string): boolean {
  const last = text
    .trimEnd()
    .split('\n')
    .findLast((line) => line.trim() !== '' && !line.startsWith('['))
  return last !== undefined && last.trimEnd().endsWith('?')
}
