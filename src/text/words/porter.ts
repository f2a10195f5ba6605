// The Porter stemmer: M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980), with the author's two later
// changes (bli, logi). It was compared once with the author's vocabulary and its stems (test/unit/text/words/porter.test.ts).

const C = '[^aeiou][^aeiouy]*'
const V = '[aeiouy][aeiou]*'
/** Match stems by Porter's measure m, the number of vowel runs followed by a consonant run: m > 0, m = 1, m > 1. */
const SOME = new RegExp(`^(?:${C})?${V}${C}`)
const ONE = new RegExp(`^(?:${C})?${V}${C}(?:${V})?$`)
const MANY = new RegExp(`^(?:${C})?(?:${V}${C}){2}`)
const HAS_VOWEL = new RegExp(`^(?:${C})?[aeiouy]`)
const SHORT = new RegExp(`^${C}[aeiouy][^aeiouwxy]$`)
const DOUBLED = /([^aeiouylsz])\1$/

/** Suffixes of steps 2 and 3, with their replacements. */
const STEP_2: Record<string, string> = {
  ational: 'ate',
  tional: 'tion',
  enci: 'ence',
  anci: 'ance',
  izer: 'ize',
  bli: 'ble',
  alli: 'al',
  entli: 'ent',
  eli: 'e',
  ousli: 'ous',
  ization: 'ize',
  ation: 'ate',
  ator: 'ate',
  alism: 'al',
  iveness: 'ive',
  fulness: 'ful',
  ousness: 'ous',
  aliti: 'al',
  iviti: 'ive',
  biliti: 'ble',
  logi: 'log',
}
const STEP_3: Record<string, string> = {
  icate: 'ic',
  ative: '',
  alize: 'al',
  iciti: 'ic',
  ical: 'ic',
  ful: '',
  ness: '',
}
/** Match a stem and a suffix of steps 2, 3 and 4. The lazy stem makes the suffix the longest one that matches. */
const ENDING_2 = new RegExp(`^(.+?)(${Object.keys(STEP_2).join('|')})$`)
const ENDING_3 = new RegExp(`^(.+?)(${Object.keys(STEP_3).join('|')})$`)
const ENDING_4 = /^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize|(?<=[st])ion)$/

/** Returns the stem of a word of at least three letters a to z, in lower case. */
export function porter(word: string): string {
  // A leading y is a consonant. As a capital, it does not match the vowel classes.
  let w = word.startsWith('y') ? `Y${word.slice(1)}` : word
  w = plural(w)
  w = past(w)
  if (w.endsWith('y') && HAS_VOWEL.test(w.slice(0, -1))) w = `${w.slice(0, -1)}i`
  w = replaced(w, ENDING_2, STEP_2)
  w = replaced(w, ENDING_3, STEP_3)
  const fourth = ENDING_4.exec(w)
  if (fourth && MANY.test(fourth[1]!)) w = fourth[1]!
  if (w.endsWith('e')) {
    const head = w.slice(0, -1)
    if (MANY.test(head) || (ONE.test(head) && !SHORT.test(head))) w = head
  }
  if (w.endsWith('ll') && MANY.test(w)) w = w.slice(0, -1)
  return w.startsWith('Y') ? `y${w.slice(1)}` : w
}

function plural(w: string): string {
  if (w.endsWith('sses') || (w.endsWith('ies') && w.length > 3)) return w.slice(0, -2)
  return w.endsWith('s') && !w.endsWith('ss') && w.length > 2 ? w.slice(0, -1) : w
}

function past(w: string): string {
  if (w.endsWith('eed')) return SOME.test(w.slice(0, -3)) ? w.slice(0, -1) : w
  const head = w.endsWith('ed') ? w.slice(0, -2) : w.endsWith('ing') ? w.slice(0, -3) : null
  if (head === null || !HAS_VOWEL.test(head)) return w
  if (/(?:at|bl|iz)$/.test(head)) return `${head}e`
  if (DOUBLED.test(head)) return head.slice(0, -1)
  return SHORT.test(head) ? `${head}e` : head
}

function replaced(w: string, ending: RegExp, by: Record<string, string>): string {
  const match = ending.exec(w)
  return match && SOME.test(match[1]!) ? match[1]! + by[match[2]!]! : w
}
