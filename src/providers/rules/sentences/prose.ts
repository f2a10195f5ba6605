// Reads the lines of prose of a turn, and their sentences. Drops text that the speaker does not personally write: code,
// quoted lines, copied lines, and lists after a heading. Replaces quotations.

/** Replaces a quotation. A sentence that contains it is dropped. */
export const CUT = '\uFFFC'

const FENCE = /^\s{0,3}(```|~~~)/
const CODE = new RegExp(
  String.raw`[{};]\s*$|=>|^(?:\t| {4})|^\s*(?:import|export|const|let|var|def|function|class|select|return|`
    + String.raw`#include)\b|<\/?\w{1,20}[^>]{0,200}>|^\s*[$#|]`,
  'i',
)
/** A line copied from a conversation: "Ada: I live in Rome", but not "Decision: …". */
const COPIED = new RegExp(
  String.raw`^\s*(?:[-*]\s*)?(?:\[[^\]]{0,40}\]\s*)?(?!(?:note|decision|decided|remember|reminder|update|ps|fyi|`
    + String.raw`fun fact|btw)\b)[\p{L}][\p{L} ._'-]{0,30}(?:\([^)]{0,30}\))?:\s`,
  'iu',
)
const ITEM = /^\s*(?:[-*•]|\d+[.)])\s+/

/**
 * Yields the lines of prose, without list markers, and null for each other line: code, quoted lines, copied lines, and
 * lists after a line that ends with a colon.
 */
export function* prose(text: string): Generator<string | null, void> {
  /** The mark of the open code fence; null outside code fences. */
  let fence: string | null = null
  /** Whether a list may follow, because the last line of text ended with a colon: "What I remember:". */
  let isListing = false
  for (const line of text.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1]
    let kept: string | null = null
    if (fence === null && mark) fence = mark
    else if (fence !== null) fence = mark === fence ? null : fence
    else if (!isCopied(line) && !(ITEM.test(line) && isListing)) {
      isListing = /:\s*$/.test(line) || (isListing && line.trim() === '')
      kept = line.replace(ITEM, '')
    }
    yield kept
  }
}

/** Whether the line is code, a quoted line, or a line copied from a conversation. */
const isCopied = (line: string) => /^\s*(?:>|\[)/.test(line) || CODE.test(line) || COPIED.test(line)

/**
 * Removes the quotation marks of short quotations, which are usually titles. Replaces longer quotations, and those in
 * the first person, with CUT.
 */
export function withoutQuotes(line: string): string {
  const cut = (_: string, inner: string) =>
    inner.split(/\s+/).length <= 4 && !/\b(?:i|i'm|im|ive|my|we|our|me)\b/i.test(inner) ? inner : CUT
  const unquoted = line
    .replace(/`([^`]{1,200})`/g, cut)
    .replace(/[’ʼ`´]/g, "'")
    .replace(/"([^"]{1,400})"/g, cut)
    .replace(/[“„«]([^”“»]{1,400})[”“»]/g, cut)
    .replace(/(?<=^|\s)'([^'\n]{1,400})'(?=$|[\s.,!?])/g, cut)
  // An unclosed quotation extends to the end of the line.
  return unquoted.replace(/["“„«].*$/, CUT)
}

const ABBREVIATED = /\b(?:dr|mr|mrs|ms|st|prof|vs|e\.g|i\.e|etc|no|u\.s|a\.m|p\.m|inc|ltd|jr|sr)\.$/i
const ENDS = /(?<=[.!?…]["')\]]{0,2})\s+/

/** An emoji or a smiley, with the punctuation after it. */
const SMILE = new RegExp(
  String.raw`\s?(?:\p{Extended_Pictographic}[\p{Extended_Pictographic}\u200d\ufe0f\p{EMod}]*|`
    + String.raw`(?<=\s)[:;]-?[()DPp](?=\s|$))([.!?]*)`,
  'gu',
)

/** Splits a line into sentences with their punctuation. An emoji or a smiley also ends a sentence. */
export function sentences(line: string): string[] {
  const found: string[] = []
  const plain = line.replace(SMILE, (_, mark: string) => (mark ? `${mark} ` : ' . '))
  for (const piece of plain.split(ENDS)) {
    if (found.length > 0 && ABBREVIATED.test(found.at(-1)!)) found.push(`${found.pop()} ${piece}`)
    else found.push(piece)
  }
  return found.map((sentence) => sentence.trim()).filter(Boolean)
}
