// Splits turns and queries into words. The lexical index stems the words; the static embedder looks up their vectors.
// Both results are stored. A change here, or in the files that this one imports, therefore needs a migration that
// clears the index terms (domain/memory/indexing/index-entry.ts), and a new NAME in providers/static/embedder.ts.

import { folded } from './elongation.ts'
import { languageOf, LATIN, type LatinLanguage } from './language.ts'
import { SEGMENTED, segments } from './segments.ts'
import { corrected } from './spelling.ts'
import { stem } from './stems.ts'
import { EAST_ASIAN_STOP_WORDS, STOP_WORDS } from './stop-words.ts'

/** Maximum UTF-16 units of a word. Longer ones, such as base64 blobs, are dropped, to keep index entries small. */
const MAX_WORD_UNITS = 64

/**
 * Number of UTF-16 units of a text in scripts without spaces after which it is split into pairs of characters, not words, so that a long text does not block the event loop: splitting these takes about 8 ms.
 */
const MAX_SPLIT_UNITS = 4_096

/** Letters and digits, with apostrophes inside, which may be straight, typographic or a backtick. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:['’ʼ`][\p{L}\p{M}]+)*/gu
const APOSTROPHE = /['’ʼ`]/u
const MARKS = /\p{M}+/gu
const withoutMarks = (word: string) => word.normalize('NFD').replace(MARKS, '')
const ASCII = /^[a-z0-9]*$/
/** The first code unit that is not ASCII. */
const FIRST_OTHER = 0x80
const CYRILLIC = /\p{Script=Cyrillic}/u
/** A letter of a Latin word, which languages may stem differently. A word with a digit is never stemmed. */
const LATIN_WORD = /^[\p{Script=Latin}]{3,}$/u

/** Endings that are removed with their apostrophe: "john's" → john, "we'll" → we. */
const CLITICS = new Set(['s', 'm', 're', 've', 'll', 'd', 't'])
/** Beginnings that are removed with their apostrophe: "l'eau" → eau, "dell'orto" → orto. */
const ELISIONS = new Set(
  `l d j m t s n c qu jusqu lorsqu puisqu quoiqu all dall dell nell sull coll un quest quell dov com cos gl v tutt
  bell sant senz anch`.split(/\s+/),
)

/**
 * The words of a text in order, in lower case: without accents, and as stemmers need them, with their accents. Both
 * lists have the same length.
 */
type Words = { plain: string[]; accented: string[] }

/**
 * The words of a text, and the language of those in Latin script; null if nothing speaks for one. Typing errors in
 * `plain` are corrected unless the language is another one than English.
 */
export type ReadText = Words & { language: LatinLanguage | null }

/** Splits a text into words. */
function readWords(text: string): Words {
  let splitUnits = 0
  const plain: string[] = []
  const accented: string[] = []
  const lower = folded(text.toLowerCase().normalize('NFKC'))
  for (const [raw] of lower.matchAll(WORD)) {
    if (ASCII.test(raw)) {
      if (raw.length > MAX_WORD_UNITS) continue
      plain.push(raw)
      accented.push(raw)
      continue
    }
    const word = APOSTROPHE.test(raw) ? withoutApostrophes(raw) : raw
    if (word.length === 0 || word.length > MAX_WORD_UNITS) continue
    if (SEGMENTED.test(word)) {
      for (const segment of segments(word, splitUnits < MAX_SPLIT_UNITS)) {
        plain.push(segment)
        accented.push(segment)
      }
      splitUnits += word.length
      continue
    }
    plain.push(CYRILLIC.test(word) ? word.replaceAll('ё', 'е') : withoutMarks(word))
    accented.push(word)
  }
  return { plain, accented }
}

/** Splits a text into words and guesses its language. */
export function readText(text: string): ReadText {
  const { plain, accented } = readWords(text)
  const language = languageOf(plain, accented)
  return { plain: language === null || language === 'en' ? corrected(plain) : plain, accented, language }
}

/** Removes apostrophes, clitics and elisions. */
function withoutApostrophes(raw: string): string {
  const [head = '', ...tail] = raw.split(APOSTROPHE)
  const last = tail.at(-1)!
  if (last === 't' && tail.length === 1 && head.endsWith('n')) return head.slice(0, -1) // don't → do
  if (CLITICS.has(last)) return head + tail.slice(0, -1).join('')
  if (ELISIONS.has(head)) return tail.join('')
  return head + tail.join('') // o'clock, O'Brien
}

/** Returns the words of a text in order, in lower case and without accents. A contraction counts as its first word. */
export const words = (text: string): string[] => readWords(text).plain

/** The function words that may be in a text of each language: its own, and those of other scripts. */
const STOPS = Object.fromEntries(
  LATIN.map((language) => [language, new Set([...STOP_WORDS[language], ...STOP_WORDS.ru, ...EAST_ASIAN_STOP_WORDS])]),
) as { [language in LatinLanguage]: Set<string> }

/** Returns the words of a text that are not function words of its language. */
export function contentWords(text: string): string[] {
  const { plain, language } = readText(text)
  const stops = STOPS[language ?? 'en']
  return plain.filter((word) => !stops.has(word))
}

/**
 * Returns the index term of a word: its stem, prefixed by the language unless it is English. Words that no language
 * changes have the same term in all: numbers, short words, and words in other scripts than Latin. The prefix keeps
 * apart the stems of different languages: a French "cares" would match "car".
 */
function termOf(plain: string, accented: string, language: LatinLanguage): string {
  if (language === 'en' && plain.charCodeAt(0) < FIRST_OTHER) return stem(plain, 'en')
  if (!LATIN_WORD.test(plain)) return CYRILLIC.test(plain) ? stem(plain, 'ru') : plain
  if (language === 'en') return plain
  return `${language}:${withoutMarks(stem(accented, language))}`
}

/**
 * Returns the index terms of a text: those of its words other than function words, in order, with repetitions.
 * @param language the language of the words; English if null
 */
export function termsOf({ plain, accented }: ReadText, language: LatinLanguage | null): string[] {
  const stops = STOPS[language ?? 'en']
  const found: string[] = []
  for (let i = 0; i < plain.length; i++) {
    const word = plain[i]!
    if (!stops.has(word)) found.push(termOf(word, accented[i]!, language ?? 'en'))
  }
  return found
}

/** Returns the index terms of a text of one language. */
export function terms(text: string): string[] {
  const read = readText(text)
  return termsOf(read, read.language)
}

/**
 * Returns the distinct terms to search for a query. Each is a list of alternatives: the index terms that a word has in
 * texts of each language, because the texts' languages are not known, and the query's is only guessed. A text contains
 * at most one of them for each word.
 */
export function queryTerms(query: string): string[][] {
  const { plain, accented, language } = readText(query)
  const spellings = corrected(plain)
  const found = new Map<string, Set<string>>()
  for (let i = 0; i < plain.length; i++) {
    const [word, spelled] = [plain[i]!, accented[i]!]
    if (STOPS[language ?? 'en'].has(word)) continue
    const own = termOf(word, spelled, language ?? 'en')
    const alternatives = found.get(own) ?? new Set([own])
    found.set(own, alternatives)
    if (!LATIN_WORD.test(word)) continue
    alternatives.add(termOf(spellings[i]!, spelled, 'en'))
    for (const other of LATIN) {
      alternatives.add(termOf(word, spelled, other))
      // A text may be written without accents.
      if (spelled !== word) alternatives.add(termOf(word, word, other))
    }
  }
  return [...found.values()].map((alternatives) => [...alternatives])
}
