// Takes personal data and secrets out of a text before it is kept, where that is asked for. What looks like one and
// fails its checksum stays. Reads each text once: all patterns are bounded, so that the time grows with the length of
// the text and nothing else, whoever wrote it.

import { cards, credentials, emails, ibans, ips, phones, type Finding } from './sensitive.ts'

/** Names stretches of a text. One that overlaps an earlier detector's is dropped. */
type Detector = (text: string) => Iterable<Finding>
/** One's own: a pattern, with the kind that stands in its place, or a function. Their time is theirs to bound. */
export type CustomDetector = Detector | { kind: string; pattern: RegExp }

type Redacted = {
  text: string
  /** What was taken out, by places in the text that was given, ascending. */
  found: Finding[]
}

/** In the order of precedence: what is part of an earlier one's find is not looked at again. */
const BUILT_IN: Detector[] = [credentials, emails, ibans, cards, ips, phones]

const byPattern = (kind: string, pattern: RegExp): Detector => {
  const flags = pattern.flags.replace('y', '')
  const global = new RegExp(pattern.source, flags.includes('g') ? flags : `${flags}g`)
  return (text) =>
    [...text.matchAll(global)].map(({ 0: match, index }) => ({ kind, start: index, end: index + match.length }))
}

/** What stands in the place of a find. No detector finds it: redacting twice changes nothing. */
export const placeholder = (kind: string) => `[${kind.replace(/[^\p{L} _-]+/gu, '').toUpperCase() || 'REDACTED'}]`

/**
 * The text without what the detectors find. One's own come first. A find outside the text, or one that is empty or not
 * in whole numbers, is passed over.
 */
export function redact(text: string, custom: readonly CustomDetector[] = []): Redacted {
  const own = custom.map((each) => (typeof each === 'function' ? each : byPattern(each.kind, each.pattern)))
  const found: Finding[] = []
  for (const detect of [...own, ...BUILT_IN]) {
    const fresh: Finding[] = []
    let at = 0
    for (const find of [...detect(text)].sort((a, b) => a.start - b.start || b.end - a.end)) {
      const { start, end } = find
      if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start >= end || end > text.length) continue
      while (at < found.length && found[at]!.end <= start) at++
      const overlaps = (found[at]?.start ?? Infinity) < end || (fresh.at(-1)?.end ?? 0) > start
      if (!overlaps) fresh.push({ kind: find.kind, start, end })
    }
    if (fresh.length > 0) found.push(...fresh.splice(0))
    found.sort((a, b) => a.start - b.start)
  }
  let rest = 0
  let kept = ''
  for (const { kind, start, end } of found) {
    kept += text.slice(rest, start) + placeholder(kind)
    rest = end
  }
  return { text: kept + text.slice(rest), found }
}
