// Corrects typing errors in English words: "recieve" to "receive", "haloween" to "halloween". Corrects only errors that
// rarely turn one word into another: two letters in the wrong order, a letter that is doubled or not doubled, and a missing
// letter in a long word. In chats and technical texts, about nine of ten corrections are right; substituted letters, of
// which fewer than half would be, are not corrected.

import { wordVectors } from '../word-vectors.ts'

/** Minimum length of a word that is corrected, and of one with a missing letter. */
const MIN_LENGTH = 6
const MIN_LENGTH_MISSING = 7
const MAX_LENGTH = 20
/** A correction is one of this number of most frequent words. */
const FREQUENT = 30_000
/**
 * Maximum number of unknown words of a text that are corrected. Each takes about 0.1 ms.
 * @internal Exported for tests.
 */
export const MAX_UNKNOWN = 64

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
const ASCII_LETTERS = /^[a-z]+$/
/** Endings of inflected and derived words. Not "ss", which is a typing error at the end of a plural. */
const ENDING = /(?:(?<!s)s|es|e?d|ing|e?rs?|est|ly|y|less|ness)$/
const DOUBLED_END = /([a-z])\1$/

/** Whether the word, or one from which it is formed by a usual ending, is in the vocabulary. */
function isKnown(word: string, ranks: ReadonlyMap<string, number>): boolean {
  if (ranks.has(word)) return true
  const base = word.replace(ENDING, '')
  if (base.length === word.length) return false
  return ranks.has(base) || ranks.has(`${base}e`) || (DOUBLED_END.test(base) && ranks.has(base.slice(0, -1)))
}

/** Generates the words that the word may stand for. The first letter is never an error. */
function* candidates(word: string): Generator<string> {
  for (let i = 1; i < word.length; i++) {
    const [head, letter, tail] = [word.slice(0, i), word[i]!, word.slice(i + 1)]
    if (letter === word[i - 1]) yield head + tail
    else yield head + letter + letter + tail
    if (i === word.length - 1) continue
    if (tail[0] !== letter) yield head + tail[0]! + letter + tail.slice(1)
    if (word.length >= MIN_LENGTH_MISSING) for (const missing of LETTERS) yield head + missing + letter + tail
  }
}

/** Returns the most frequent English word that the word may stand for; the word itself if it is none with an error. */
function correct(word: string): string {
  const { index: ranks } = wordVectors()
  let [best, bestRank] = [word, FREQUENT]
  for (const candidate of candidates(word)) {
    const rank = ranks.get(candidate)
    if (rank !== undefined && rank < bestRank) [best, bestRank] = [candidate, rank]
  }
  return best
}

/**
 * Returns the words of a text, with typing errors corrected in those that are not known as English words.
 * @param words in lower case, without accents
 */
export function corrected(words: readonly string[]): string[] {
  const { index: ranks } = wordVectors()
  let unknown = 0
  return words.map((word) => {
    if (word.length < MIN_LENGTH || word.length > MAX_LENGTH || !ASCII_LETTERS.test(word)) return word
    if (isKnown(word, ranks) || unknown++ >= MAX_UNKNOWN) return word
    return correct(word)
  })
}
