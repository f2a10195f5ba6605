// Guesses the language of a text in Latin script from its function words, its accented letters and, if it has neither,
// the endings of its words. Deterministic, and takes about 1 µs for a turn. Russian needs no guess: words in Cyrillic
// letters are stemmed as Russian, whatever the language of the text.

import { LANGUAGES, STOP_WORDS, type Language } from './stop-words.ts'

/** The languages that are distinguished, English first. A set of them is a number with a bit for each. */
export const LATIN = LANGUAGES.filter((language) => language !== 'ru')
export type LatinLanguage = Exclude<Language, 'ru'>

/** Maximum number of words that are examined. */
const EXAMINED_WORDS = 64
/** Evidence that another language needs in addition to that of English, because most texts are English. */
const ENGLISH_BONUS = 0.25
/** A text is English if this number of words that are only English are among its first CLEAR_WORDS. */
const CLEAR_ENGLISH = 5
const CLEAR_WORDS = 12
/** Evidence of a letter and of an ending, divided like that of a word by the number of languages that share it. */
const LETTER = 1.5
const ENDING = 0.75

/** Common words that are not function words, and so are indexed: greetings, thanks and the like. */
const HINTS: Record<LatinLanguage, string> = {
  en: `hello hi hey thanks thank please people really know think good great want today tomorrow yesterday need love
    going see look make made said say back time day last next new did first one two three
    man wow haha ha lol yo take care sure guys`,
  de: `hallo danke bitte tschuss guten gut morgen gestern heute abend jahr leute immer kommt komm geht gehen weiss macht
    gerade leider gerne gern bald eigentlich endlich glaube finde freue zusammen zwei drei neue neuen neuer`,
  fr: `bonjour bonsoir salut merci demain hier soir maintenant monsieur madame accord petit petite jour fois annee avoir
    etes chose vrai peux veut allez trois nouveau nouvelle`,
  es: `hola gracias buenos buenas noches tardes dias adios manana ayer ano gente senor senora mejor bueno buena hacer
    dice tres nuevo nueva creo`,
  pt: `ola oi obrigado obrigada bom boa dia noite tarde amanha ano gente senhor senhora melhor fazer acho tres novo nova
    dois duas`,
  it: `ciao grazie buongiorno buonasera domani ieri anno gente signore signora bello bella fare credo tre nuovo nuova
    prima sempre vuole`,
  nl: `hallo hoi bedankt dank dankjewel goed goede morgen gisteren vandaag avond jaar mensen leuk mooi komt gaan weet
    denk vind nieuw graag zin twee drie`,
}
/** The languages of accented letters. Rare borrowed uses, such as é in English, do not matter. */
const LETTERS: [letters: string, languages: LatinLanguage[]][] = [
  ['ß', ['de']],
  ['äöü', ['de']],
  ['ñ¿¡', ['es']],
  ['ãõ', ['pt']],
  ['ç', ['fr', 'pt']],
  ['œæùû', ['fr']],
  ['ìò', ['it']],
  ['è', ['fr', 'it']],
  ['à', ['fr', 'it', 'pt']],
  ['êâô', ['fr', 'pt']],
  ['îë', ['fr', 'nl']],
  ['áíúó', ['es', 'pt']],
  ['é', ['fr', 'es', 'pt']],
]
/** Endings and letter groups that are frequent in one language and rare in the others. */
const ENDINGS: [pattern: RegExp, language: LatinLanguage][] = [
  [/(?:ung|ungen|keit|heit|lich|isch|ische|chen|tz|sch|pf)$|sch[^aeiou]|ei[nst]e?$/, 'de'],
  [/(?:eau|eaux|eux|euse|ette|ois|oir|aient|ique)$|ou[ix]|^qu[ei]/, 'fr'],
  [/(?:cion|ciones|dad|ando|iendo|illo|illa|aje|uelo)$|^hu|ll[aeo]/, 'es'],
  [/(?:cao|coes|agem|inho|inha|dade|eiro|eira)$|lh[aeo]|nh[aeo]/, 'pt'],
  [/(?:zione|zioni|aggio|etti|etto|ella|elli|issimo|issima)$|cch|gli|zz[aoi]/, 'it'],
  [/(?:ijk|heid|tje|tjes|aar|oor|eel|uit)$|ij|aa|uu|oe[^s]/, 'nl'],
]

const setOf = (languages: readonly LatinLanguage[]) =>
  languages.reduce((set, language) => set | (1 << LATIN.indexOf(language)), 0)

/** The languages in which each word is a function word or a hint. */
const WORDS = new Map<string, number>()
for (const language of LATIN) {
  for (const word of [...STOP_WORDS[language], ...HINTS[language].split(/\s+/)]) {
    WORDS.set(word, (WORDS.get(word) ?? 0) | setOf([language]))
  }
}
const LETTER_SETS = new Map(
  LETTERS.flatMap(([letters, languages]) => [...letters].map((each) => [each, setOf(languages)])),
)

/** By set: 1 divided by its number of languages. */
const SHARES = Float64Array.from({ length: 1 << LATIN.length }, (_, set) => {
  let count = 0
  for (let rest = set; rest > 0; rest >>= 1) count += rest & 1
  return count === 0 ? 0 : 1 / count
})

/** Adds evidence for each language of a set. */
function add(evidence: Float64Array, set: number, weight: number): void {
  const share = weight * SHARES[set]!
  for (let rest = set, at = 0; rest > 0; rest >>= 1, at++) if ((rest & 1) === 1) evidence[at]! += share
}

/**
 * Returns the language of a text; null if nothing speaks for one.
 * @param plain its words as `words` returns them @param accented the same words with their accents
 */
export function languageOf(plain: readonly string[], accented: readonly string[]): LatinLanguage | null {
  const evidence = new Float64Array(LATIN.length)
  const examined = Math.min(plain.length, EXAMINED_WORDS)
  let found = false
  let english = 0
  for (let i = 0; i < examined; i++) {
    const word = plain[i]!
    const set = WORDS.get(word)
    if (set === 1) english += 1
    else if (set !== undefined) {
      found = true
      add(evidence, set, 1)
    }
    if (english === CLEAR_ENGLISH && i < CLEAR_WORDS) return 'en'
    if (accented[i] === word) continue
    for (const letter of accented[i]!) {
      const letters = LETTER_SETS.get(letter)
      if (letters === undefined) continue
      found = true
      add(evidence, letters, LETTER)
    }
  }
  if (!found && english === 0) {
    for (let i = 0; i < examined; i++) {
      for (const [ending, language] of ENDINGS) {
        if (plain[i]!.length < 4 || !ending.test(plain[i]!)) continue
        found = true
        add(evidence, setOf([language]), ENDING)
      }
    }
  }
  if (!found && english === 0) return null
  let best = 0
  evidence[0]! += english + ENGLISH_BONUS
  for (let at = 1; at < evidence.length; at++) if (evidence[at]! > evidence[best]!) best = at
  return LATIN[best]!
}
