// Decides how much of a streaming turn's text can be redacted and published before the rest has arrived. Pure:
// held-deltas.ts stores the text that is held back.
//
// A text is published up to a cut. The cut follows white space, at least WINDOW units before the end, and is not within
// a finding. So a value of one word is published, redacted, as a whole; so is a value of several words of up to WINDOW
// units. Text that is published never changes, so the published pieces joined are the stored text.

import { placeholder, redact, type CustomDetector } from '../../text/redact.ts'
import { isFirstHalf } from './state.ts'

/** Length of the text that is held back at least, in UTF-16 units. */
export const WINDOW = 256
/** Length of the text that is held back at most, in UTF-16 units, for example of a private key. */
export const MAX_HELD = 16_384
/** Length of the published text that is kept for the detectors, in UTF-16 units: many of them read the words before. */
const CONTEXT = 256

/** The text that is held back, after the published text that the detectors need. */
export type Held = {
  /** As the writer sent it. */
  raw: string
  /** Length of the published part of `raw`, in UTF-16 units. */
  published: number
}

export type Released = {
  /** Redacted text to publish. */
  text: string
  held: Held
  /** Kinds of the values that were removed from `text`. */
  removed: string[]
}

type Found = { start: number; end: number }

const isSpace = (text: string, at: number) => /\s/.test(text.charAt(at))

/** Returns the last place from `published` to `limit` that follows white space and is in no finding. */
function cutOf(raw: string, published: number, limit: number, found: readonly Found[]): number {
  for (let cut = limit; cut > published; cut--) {
    if (!isSpace(raw, cut - 1)) continue
    const around = found.find(({ start, end }) => start < cut && cut < end)
    if (!around) return cut
    cut = around.start + 1
  }
  return published
}

/** Returns a cut for a text without a place to cut: before the window, or after the finding there. */
function forcedCut(raw: string, limit: number, found: readonly Found[]): number {
  const around = found.find(({ start, end }) => start < limit && limit < end)
  if (around) return around.end
  return isFirstHalf(raw.charCodeAt(limit - 1)) ? limit - 1 : limit
}

/** Returns the end of the text without half of a surrogate pair. */
const wholeEnd = (raw: string) => (isFirstHalf(raw.charCodeAt(raw.length - 1)) ? raw.length - 1 : raw.length)

/**
 * Adds text to the text that is held back, and releases what can be published.
 * @param isFinal whether everything is released, except half of a surrogate pair
 */
export function release(
  { raw: before, published }: Held,
  text: string,
  detectors: readonly CustomDetector[],
  isFinal: boolean,
): Released {
  const raw = before + text
  const { found } = redact(raw, detectors)
  const limit = raw.length - WINDOW
  let cut = isFinal ? wholeEnd(raw) : cutOf(raw, published, limit, found)
  if (!isFinal && raw.length - cut > MAX_HELD) cut = Math.max(cut, forcedCut(raw, limit, found))
  let redacted = ''
  let copiedTo = published
  const removed: string[] = []
  for (const { kind, start, end } of found) {
    if (end <= published || start >= cut) continue
    // Of a value that is partly published, only the rest is removed.
    redacted += raw.slice(copiedTo, Math.max(copiedTo, start)) + placeholder(kind)
    copiedTo = end
    removed.push(kind)
  }
  redacted += raw.slice(copiedTo, cut)
  const from = Math.max(0, cut - CONTEXT)
  return { text: redacted, held: { raw: raw.slice(from), published: cut - from }, removed }
}
