// Finds the words of a query in a text, so that a hit can emphasise them.

/** Frequent words that say nothing about a hit. */
const IGNORED = new Set(
  (
    'about and are can does for from has have how into its not our that the their them then there they this was were '
    + 'what when where which who whom whose why will with would you your'
  ).split(' '),
)

/** Minimum length of a word, in UTF-16 units, and greatest difference between the endings of two words that match. */
const [MIN_LENGTH, MAX_ENDING] = [3, 3]

const WORD = /[\p{L}\p{N}]+/gu

/** Returns the word without case and accents. */
const folded = (word: string): string => word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Whether the words are equal, or differ in their endings only, as `book` and `booked` do. */
function areAlike(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a]
  if (short === long) return true
  if (short.length < MIN_LENGTH + 1) return false
  if (long.length - short.length > MAX_ENDING) return false
  return long.startsWith(short) || (short.length > 4 && long.startsWith(short.slice(0, -1)))
}

const wordsOf = (query: string): string[] =>
  [...new Set((query.match(WORD) ?? []).map(folded))].filter((word) => word.length >= MIN_LENGTH && !IGNORED.has(word))

type Piece = { text: string; isMatch: boolean }

/** Returns the text in pieces, of which those that match a word of the query are marked. */
export function markWords(text: string, query: string): Piece[] {
  const words = wordsOf(query)
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const own = folded(word)
    if (!words.some((each) => areAlike(each, own))) continue
    if (index > end) pieces.push({ text: text.slice(end, index), isMatch: false })
    pieces.push({ text: word, isMatch: true })
    end = index + word.length
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMatch: false })
  return pieces
}

/**
 * Returns a part of the text of at most `length` UTF-16 units and two ellipses that begins at a word shortly before the
 * first match.
 */
export function excerptOf(text: string, query: string, length: number): string {
  if (text.length <= length) return text
  const pieces = markWords(text, query)
  const first = pieces[0]?.isMatch ? 0 : (pieces[0]?.text.length ?? 0)
  const isFound = pieces.some(({ isMatch }) => isMatch)
  // A third of the part shows what precedes the match.
  const wanted = isFound ? Math.max(0, Math.min(first - Math.floor(length / 3), text.length - length)) : 0
  const start = wanted === 0 ? 0 : wanted + Math.max(0, text.slice(wanted).search(/\s\S/) + 1)
  const part = text.slice(start, start + length)
  return `${start > 0 ? '…' : ''}${start + length < text.length ? `${part.replace(/\s+\S*$/, '')}…` : part}`
}
