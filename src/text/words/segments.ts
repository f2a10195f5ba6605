// Splits text in scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) into words, by the dictionaries
// of Intl.Segmenter, and Korean words into pairs of syllables, because they carry particles and endings. Measured on
// test/unit/domain/memory/recall/search/languages: words find more than pairs of characters, or than both, in Chinese and
// Thai. Also splits texts into sentences.
//
// The dictionaries belong to ICU, whose version depends on that of Node. Versions may split rare words differently; a
// turn that an older version indexed is then found by its other words.

const SCRIPTS = ['Han', 'Hiragana', 'Thai', 'Lao', 'Khmer', 'Myanmar', 'Katakana']
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const HANGUL = /\p{Script=Hangul}/u
/** A letter of a script without spaces. */
const UNSPACED = new RegExp(`[${SCRIPTS}]`, 'u')
/** A letter of a script that `segments` splits. */
export const SEGMENTED = new RegExp(`[${SCRIPTS}\\p{Script=Hangul}]`, 'u')
/**
 * Runs of one kind: Katakana, other unspaced script, Korean, or other letters and digits, such as "iPhone" in
 * "iPhoneを". Katakana is separate, so that "東京" is found in "東京タワー".
 */
const RUNS = new RegExp(
  `[\\p{Script=Katakana}ー]+|(?:(?!\\p{Script=Katakana})[${SCRIPTS}\\p{M}])+|\\p{Script=Hangul}+`
    + `|[^${SCRIPTS}ー\\p{M}\\p{Script=Hangul}]+`,
  'gu',
)

/** Korean particles. They are removed from the ends of words that have at least two syllables before them. */
const PARTICLES =
  /(?<=^..+)(?:에서는|에게서|으로는|이라고|까지|부터|에서|에게|한테|께서|으로|이랑|하고|라고|처럼|보다|마다|조차|은|는|이|가|을|를|에|로|와|과|의|도|만|랑|야|요)$/u

/** The segmenter of all scripts; its locale does not matter for words. Created on first use, in about 1 ms. */
let segmenter: Intl.Segmenter | null = null

/** Returns the overlapping pairs of characters of a word; the word itself if it has one character. */
function pairs(word: string): string[] {
  const characters = [...word]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, i) => characters[i]! + character)
}

/**
 * Splits a run of letters of which SEGMENTED matches at least one.
 * @param splitsWords whether to use the segmenter, at about 1 µs per character; otherwise returns pairs of characters,
 *   which equal the many words of two characters in Chinese and Japanese
 */
export function segments(letters: string, splitsWords: boolean): string[] {
  const found: string[] = []
  for (const [run] of letters.matchAll(RUNS)) {
    if (HANGUL.test(run)) found.push(...pairs(run.replace(PARTICLES, '')))
    else if (!UNSPACED.test(run)) found.push(run)
    else if (!splitsWords) found.push(...pairs(run))
    else {
      segmenter ??= new Intl.Segmenter('ja', { granularity: 'word' })
      for (const { segment, isWordLike } of segmenter.segment(run)) if (isWordLike) found.push(segment)
    }
  }
  return found
}

const sentenceSegmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Yields the sentences of each line. White space is not collapsed. */
export function* sentencesOf(text: string): Generator<string> {
  for (const line of text.split(/\n+/)) for (const { segment } of sentenceSegmenter.segment(line)) yield segment
}
