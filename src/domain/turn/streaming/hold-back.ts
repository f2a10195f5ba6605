// Decides how much of a streaming turn's text can be redacted and published before the rest has arrived. Pure:
// held-deltas.ts stores the text that is held back.
//
// The text before a cut is published. A cut follows white space, is at least WINDOW units before the end, and is not
// within a finding, which is a value that a detector found. So a value is redacted as a whole if it is one word, or
// several words of up to WINDOW units. Published text never changes, so the pieces, concatenated, are the stored text.

import { placeholder, redact, type CustomDetector } from '../../../text/redact/redact.ts'
import { redactDocument } from '../../kernel/redaction.ts'
import { isFirstHalf } from './delta-batch.ts'

/** Minimum length of the held-back text, in UTF-16 units. @internal */
export const WINDOW = 256
/** Maximum length of the held-back text, in UTF-16 units, for a long finding or a long text without white space. */
export const MAX_HELD = 16_384
/** Length of the published text that is kept, in UTF-16 units, because many detectors read the words before a value. */
const CONTEXT = 256

/** The text that is held back, after the published text that the detectors need. */
export type Held = {
  /** The text as the writer sent it. */
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

/** Returns the last offset up to `limit` that follows white space and is in no finding; `published` if none is. */
function cutOf(raw: string, published: number, limit: number, found: readonly Found[]): number {
  for (let cut = limit; cut > published; cut--) {
    if (!isSpace(raw, cut - 1)) continue
    const around = found.find(({ start, end }) => start < cut && cut < end)
    if (!around) return cut
    cut = around.start + 1
  }
  return published
}

/** Returns a cut where `cutOf` finds none: the end of the finding around `limit`, or else `limit`. */
function forcedCut(raw: string, limit: number, found: readonly Found[]): number {
  const around = found.find(({ start, end }) => start < limit && limit < end)
  if (around) return around.end
  return isFirstHalf(raw.charCodeAt(limit - 1)) ? limit - 1 : limit
}

/** Returns the end of the text without a trailing half of a surrogate pair. */
const wholeEnd = (raw: string) => (isFirstHalf(raw.charCodeAt(raw.length - 1)) ? raw.length - 1 : raw.length)

/**
 * Adds text to the held-back text, and releases the part that can be published.
 * @param isFinal whether to release all text, except a trailing half of a surrogate pair
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
    // If a part of the value is already published, only the rest is replaced.
    redacted += raw.slice(copiedTo, Math.max(copiedTo, start)) + placeholder(kind)
    copiedTo = end
    removed.push(kind)
  }
  redacted += raw.slice(copiedTo, cut)
  const from = Math.max(0, cut - CONTEXT)
  return { text: redacted, held: { raw: raw.slice(from), published: cut - from }, removed }
}

/** Published instead of arguments that are not JSON, which cannot be redacted: it is not JSON either. */
const NOT_JSON = '{'

/**
 * Adds text to the arguments of a tool call, which are JSON. Holds all of it back until the last text has arrived: then
 * each string in the JSON is redacted. Of arguments that are not JSON, nothing is published.
 */
export function releaseArguments(
  { raw: before, published }: Held,
  text: string,
  detectors: readonly CustomDetector[],
  isFinal: boolean,
): Released {
  const raw = before + text
  if (!isFinal) return { text: '', held: { raw, published }, removed: [] }
  const none = { raw: '', published: 0 }
  try {
    const { value, removed } = redactDocument(JSON.parse(raw), detectors)
    return { text: JSON.stringify(value), held: none, removed }
  } catch {
    return { text: NOT_JSON, held: none, removed: [] }
  }
}
