// Ranking signals of a turn besides its terms: whether it ends with a question, and whether it states a time, an amount
// or a name. The rules are English and weak; in other languages they seldom match and do no harm. Stored as bits beside
// the turn's terms, so that ranking needs no text.

import { MONTHS, SEASONS } from '../../text/calendar.ts'

export const Cue = {
  /** It ends with a question, so it seldom answers one. */
  ASKS: 1,
  TELLS_TIME: 2,
  TELLS_AMOUNT: 4,
  /** It has a capitalised word inside a sentence that is not its actor's name. */
  TELLS_NAME: 8,
} as const

const WEEKDAYS = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday'
const TIME = new RegExp(
  '\\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|(?:last|next)|weeks?|weekends?|months?|years?|days?|'
    + `morning|evening|night|${MONTHS.join('|')}|${WEEKDAYS}|${Object.keys(SEASONS).join('|')}|(?:19|20)\\d\\d)\\b`,
  'i',
)
const AMOUNT = /\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|few|couple|several)\b/i
/** A capitalised word after a lower-case letter, a comma or a quotation mark: not the first word of a sentence. */
const INNER_CAPITAL = /(?<=[\p{Ll},;'"] )\p{Lu}\p{Ll}+/gu

/** The bits of Cue for a text. `actor` has the words of the actor's name in lower case. */
export function cuesOf(text: string, actor: ReadonlySet<string>): number {
  let cues = 0
  if (asks(text)) cues |= Cue.ASKS
  if (TIME.test(text)) cues |= Cue.TELLS_TIME
  if (AMOUNT.test(text)) cues |= Cue.TELLS_AMOUNT
  for (const [word] of text.matchAll(INNER_CAPITAL)) {
    if (actor.has(word.toLowerCase())) continue
    cues |= Cue.TELLS_NAME
    break
  }
  return cues
}

/** Whether the last line ends with a question mark. Lines that start with a bracket (`[image: …]`) are ignored. */
function asks(text: string): boolean {
  const last = text
    .trimEnd()
    .split('\n')
    .findLast((line) => line.trim() !== '' && !line.startsWith('['))
  return last !== undefined && last.trimEnd().endsWith('?')
}
