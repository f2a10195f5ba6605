// Stems words of eight languages: English by Porter's algorithm (porter.ts), the others by Snowball. The English of
// @orama/stemmers is Porter's too, but it cuts "constitution" to "constitu", and takes four times as long.

import { createRequire } from 'node:module'
import { porter } from './porter.ts'
import { LANGUAGES, type Language } from './stop-words.ts'

type Stemmer = (word: string) => string
type StemmerModule = { stemmer: Stemmer }

const require = createRequire(import.meta.url)

/** Load the stemmers, each when its first word is stemmed: 5 to 10 KB of code and about 1 ms each. */
const LOADERS: Record<Exclude<Language, 'en'>, () => StemmerModule> = {
  de: () => require('@orama/stemmers/german') as StemmerModule,
  fr: () => require('@orama/stemmers/french') as StemmerModule,
  es: () => require('@orama/stemmers/spanish') as StemmerModule,
  pt: () => require('@orama/stemmers/portuguese') as StemmerModule,
  it: () => require('@orama/stemmers/italian') as StemmerModule,
  nl: () => require('@orama/stemmers/dutch') as StemmerModule,
  ru: () => require('@orama/stemmers/russian') as StemmerModule,
}

/** English words that are stemmed. Shorter words, and words with digits or other letters, are their own stem. */
const ENGLISH = /^[a-z]{3,}$/
/** Words of other languages that are stemmed. */
const LETTERS = /^\p{L}{3,}$/u

const stemmers: { [language in Language]?: Stemmer } = { en: (word) => (ENGLISH.test(word) ? porter(word) : word) }

function stemmerOf(language: Language): Stemmer {
  const loaded = stemmers[language]
  if (loaded || language === 'en') return loaded!
  const { stemmer } = LOADERS[language]()
  return (stemmers[language] = (word) => (LETTERS.test(word) ? stemmer(word) : word))
}

/**
 * Caches of stems by word, for each language. Cleared when they have STEMS_KEPT entries, and after STEMS_KEPT_MS,
 * because words are content, which must not stay in memory after it was erased.
 */
let caches = emptyCaches()
let cached = 0
const STEMS_KEPT = 20_000
const STEMS_KEPT_MS = 10_000
/** Maximum UTF-16 units of a cached word. A longer one may be a slice of its text, and keep all of it in memory. */
const MAX_KEPT_UNITS = 12

function emptyCaches() {
  return Object.fromEntries(LANGUAGES.map((language) => [language, new Map()])) as Record<Language, Map<string, string>>
}

function clearCaches(): void {
  caches = emptyCaches()
  cached = 0
}

/** Returns the stem of a word of the language, in lower case. Keeps the accents that the stemmer keeps. */
export function stem(word: string, language: Language = 'en'): string {
  const known = caches[language].get(word)
  if (known !== undefined) return known
  const result = stemmerOf(language)(word)
  if (word.length > MAX_KEPT_UNITS) return result
  if (cached >= STEMS_KEPT) clearCaches()
  if (cached === 0) setTimeout(clearCaches, STEMS_KEPT_MS).unref()
  cached += 1
  caches[language].set(word, result)
  return result
}
