// Computes the cues of a turn: ranking signals other than its terms. A cue says that the turn ends with a question,
// that it states a time, an amount or a name, or that it is about its author. The rules are approximate; cue-words.ts lists
// the words of each language. Cues are stored as bits with the turn's terms, so that ranking does not read the text.

import { calendarWords } from '../../../text/dates/calendar.ts'
import { LATIN, type LatinLanguage } from '../../../text/words/language.ts'
import type { Language } from '../../../text/words/stop-words.ts'
import { readText, words, type ReadText } from '../../../text/words/words.ts'
import { CUE_WORDS, EAST_ASIAN_CUES } from './cue-words.ts'

/** The bit of each cue. */
export const Cue = {
  /** The turn ends with a question, so it seldom answers one. */
  ASKS: 1,
  STATES_TIME: 2,
  STATES_AMOUNT: 4,
  /** A capitalised word inside a sentence, other than the actor's name. */
  STATES_NAME: 8,
  /** The turn speaks of its author in the first person: "I", "my", "we". */
  STATES_SELF: 16,
} as const

/**
 * A capitalised word that does not begin a sentence: it follows a space after a lower-case letter, `,`, `;` or a quote.
 */
const INNER_CAPITAL = /(?<=[\p{Ll},;'"] )\p{Lu}\p{Ll}+/gu
/** In German, in which all nouns are capitalised: a capitalised word without an article, after one of these words. */
const GERMAN_NAME =
  /(?<=(?<!\p{L})(?:[Ii]n|[Aa]us|[Nn]ach|[Bb]ei|[Mm]it|[Vv]on|[Uu]nd|heißt|heiße|Herrn?|Frau|Dr\.|Onkel|Tante) )\p{Lu}\p{Ll}+/gu
/** A question mark at the end, also Arabic or full-width, or a final particle of questions in Japanese and Chinese. */
const QUESTION_END = /(?:[?？؟]|か。|か|吗。?)$/u
/** Letters other than Latin and Cyrillic ones. */
const EAST_ASIAN = /[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/u
/** The cues of the lists in cue-words.ts. */
const LISTED = { time: Cue.STATES_TIME, amount: Cue.STATES_AMOUNT, self: Cue.STATES_SELF } as const
type Listed = keyof typeof LISTED

/** Adds the words of a language, as `words` returns them, with the bits of their cues. */
function addWords(bits: Map<string, number>, language: Language): Map<string, number> {
  for (const [list, bit] of Object.entries(LISTED)) {
    const listed = words(CUE_WORDS[language][list as Listed])
    if (bit === Cue.STATES_TIME) listed.push(...words(calendarWords(language).join(' ')))
    for (const word of listed) bits.set(word, (bits.get(word) ?? 0) | bit)
  }
  return bits
}

/** The words of each language, and those of Russian, because no other language uses its letters. */
const TABLES = new Map<LatinLanguage, ReadonlyMap<string, number>>(
  LATIN.map((language) => [language, addWords(addWords(new Map(), 'ru'), language)]),
)

const NUMBER = /^\d+$/
const YEAR = /^(?:19|20)\d\d$/

/**
 * Returns the cues of a text, as bits of Cue.
 * @param actor the words of the actor's name, in lower case @param read the text's words, if they are known
 */
export function cuesOf(text: string, actor: ReadonlySet<string>, read: ReadText = readText(text)): number {
  const language = read.language ?? 'en'
  let cues = asks(text) ? Cue.ASKS : 0
  const bits = TABLES.get(language)!
  for (const word of read.plain) {
    const bit = bits.get(word)
    if (bit !== undefined) cues |= bit
    else if (NUMBER.test(word)) cues |= YEAR.test(word) ? Cue.STATES_TIME | Cue.STATES_AMOUNT : Cue.STATES_AMOUNT
  }
  if (EAST_ASIAN.test(text)) {
    for (const [list, bit] of Object.entries(LISTED)) if (EAST_ASIAN_CUES[list as Listed].test(text)) cues |= bit
  }
  for (const [word] of text.matchAll(language === 'de' ? GERMAN_NAME : INNER_CAPITAL)) {
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
  return last !== undefined && QUESTION_END.test(last.trimEnd())
}
