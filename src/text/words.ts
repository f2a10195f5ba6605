// Splits turns and queries into words. The lexical index stems the words; the static embedder looks up their vectors.
// Both results are stored. A change here therefore needs a migration that clears the index terms
// (domain/indexing/index-entry.ts), and a new NAME in providers/static/embedder.ts.

import { porter } from './porter.ts'

/** Maximum UTF-16 units of a word. Longer ones, such as base64 blobs, are dropped, to keep index entries small. */
const MAX_WORD_UNITS = 64

/** Letters and digits, with apostrophes inside, which may be straight, typographic or a backtick. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:['’ʼ`][\p{L}\p{M}]+)*/gu
const APOSTROPHE = /['’ʼ`]/u
const MARKS = /\p{M}+/gu
const ASCII = /^[a-z0-9]*$/

/** Endings that are removed with their apostrophe: "john's" → john, "we'll" → we. */
const CLITICS = new Set(['s', 'm', 're', 've', 'll', 'd', 't'])

/** Scripts that are written without spaces. Their text is split into overlapping pairs of characters. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

/** Returns the words of a text in order, in lower case and without accents. A contraction counts as its first word. */
export function words(text: string): string[] {
  const found: string[] = []
  for (const [raw] of text.toLowerCase().normalize('NFKC').matchAll(WORD)) {
    const word = ASCII.test(raw) ? raw : plain(raw)
    if (word.length === 0 || word.length > MAX_WORD_UNITS) continue
    if (UNSPACED.test(word)) found.push(...pairs(word))
    else found.push(word)
  }
  return found
}

/** Removes apostrophes, clitics and accents. */
function plain(raw: string): string {
  const [head = '', ...tail] = raw.split(APOSTROPHE)
  const last = tail.at(-1)
  let word = head
  if (last !== undefined) {
    if (!CLITICS.has(last)) word = head + tail.join('') // o'clock, O'Brien
    else if (last === 't' && tail.length === 1 && head.endsWith('n')) word = head.slice(0, -1) // don't → do
    else word = head + tail.slice(0, -1).join('')
  }
  return word.normalize('NFD').replace(MARKS, '')
}

function pairs(word: string): string[] {
  const characters = [...word]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, i) => characters[i]! + character)
}

/** Function words. They are not indexed, searched or embedded. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any are as at be because been before being below between both
  but by ca can cannot could did do does doing done down during each either else ever every few for from further get
  gets getting go goes going gonna got gotten had has have having he her here hers herself him himself his how i if in
  into is it its itself just let like ll may me might mine more most much must my myself neither no nor not now of off
  oh ok okay on once only or other our ours ourselves out over own per quite rather re really s same shall she should
  since so some such t than that the their theirs them themselves then there these they thing things this those though
  through to too toward towards u under until up upon us ve very via was we well were what when where whether which
  while who whom whose why will with within without wo would yeah yes yet you your yours yourself yourselves`.split(
    /\s+/,
  ),
)

/** Returns the index terms of a text: the stems of its words other than stop words, in order, with repetitions. */
export function terms(text: string): string[] {
  const found: string[] = []
  for (const word of words(text)) if (!STOP_WORDS.has(word)) found.push(stem(word))
  return found
}

/** Words that are stemmed. Shorter words, and words with digits or other letters, are their own stem. */
const STEMMED = /^[a-z]{3,}$/

/**
 * Cache of stems by word. Cleared when it has STEMS_KEPT entries, and after STEMS_KEPT_MS, because words are content,
 * which must not stay in memory after it was erased.
 */
let stems = new Map<string, string>()
const STEMS_KEPT = 20_000
const STEMS_KEPT_MS = 10_000
/** Maximum UTF-16 units of a cached word. A longer one may be a slice of its text, and keep all of it in memory. */
const MAX_KEPT_UNITS = 12

/** Returns the stem of a word that `words` returned. */
export function stem(word: string): string {
  const cached = stems.get(word)
  if (cached !== undefined) return cached
  const result = STEMMED.test(word) ? porter(word) : word
  if (word.length > MAX_KEPT_UNITS) return result
  if (stems.size >= STEMS_KEPT) stems = new Map()
  if (stems.size === 0) setTimeout(() => (stems = new Map()), STEMS_KEPT_MS).unref()
  stems.set(word, result)
  return result
}
