// Folds elongated words of chats to their usual spelling: "soooo" to "so", "yesss" to "yes", "goood" to "good". Pure.

import { LANGUAGES, STOP_WORDS } from './stop-words.ts'

/** A letter that is written three times or more. */
const ELONGATED = /([\p{Script=Latin}\p{Script=Cyrillic}])\1\1/u
const WORD = /[\p{L}\p{M}]+/gu
const RUN = /(\p{L})\1{2,}/gu
/** One letter only, as in "mmm" and "www", or a Roman numeral, as in "xviii". Such words are not changed. */
const UNCHANGED = /^(?:(\p{L})\1*|[ivxlcdm]+)$/u
/** The letters that are often doubled within words, and at their ends. */
const DOUBLED = new Set('bcdefglmnoprstz')
const DOUBLED_AT_END = new Set('lsfz')

/** Words that are often elongated, or that end with a doubled letter that is seldom at the end of words. */
const COMMON = `agree all amazing awesome aww ball bee beer boo boohoo brr buzz bye call cheer ciao coffee committee cool cute
  danke deer degree employee eww fee feel feet food free glee good goodness gracias grazie great grr guarantee
  hello hey hi hola home hooray hope ja jazz keep knee look love loved lovely lover meet merci mood moon nee
  need nein nice noon obrigado ola one oui pizza please poor refugee school see seen shoo si sim sleep soon
  speed still sweet tattoo taxi tea tell three time tool tree week well woo woohoo yahoo zoo ага да нет ой
  пожалуйста привет спасибо ура`

const KNOWN: ReadonlySet<string> = new Set([
  ...LANGUAGES.flatMap((language) => [...STOP_WORDS[language]]),
  ...COMMON.split(/\s+/),
])

function fold(word: string): string {
  if (UNCHANGED.test(word)) return word
  const doubled = word.replace(RUN, '$1$1')
  if (KNOWN.has(doubled)) return doubled
  const single = word.replace(RUN, '$1')
  if (KNOWN.has(single)) return single
  return word.replace(RUN, (run, letter: string, at: number) => {
    const letters = at + run.length === word.length ? DOUBLED_AT_END : DOUBLED
    return letters.has(letter) ? letter + letter : letter
  })
}

/**
 * Shortens each run of three or more equal letters of a text in lower case: to two if that is a known word, to one if
 * that is a known word, otherwise to two for letters that are usually doubled, and to one for others.
 */
export const folded = (text: string): string =>
  ELONGATED.test(text) ? text.replace(WORD, (word) => (ELONGATED.test(word) ? fold(word) : word)) : text
