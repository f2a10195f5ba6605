// Replaces personal data and secrets in a text with placeholders. Card and bank account numbers with a wrong checksum
// are kept. All built-in patterns are bounded, so that the time is linear in the length of the text for any input.

import { cards, credentials, emails, ibans, ips, phones, type Finding } from './sensitive.ts'

/** Returns the sensitive ranges of a text. */
type Detector = (text: string) => Iterable<Finding>
/**
 * An application's detector: a function, or a pattern with the kind to show in the placeholder. Its running time is not
 * limited.
 */
export type CustomDetector = Detector | { kind: string; pattern: RegExp }

type Redacted = {
  text: string
  /** The findings that were replaced, by position in the input, ascending. */
  found: Finding[]
}

/** The built-in detectors, in order of precedence. */
const BUILT_IN: Detector[] = [credentials, emails, ibans, cards, ips, phones]

const byPattern = (kind: string, pattern: RegExp): Detector => {
  const flags = pattern.flags.replace('y', '')
  const global = new RegExp(pattern.source, flags.includes('g') ? flags : `${flags}g`)
  return (text) =>
    [...text.matchAll(global)].map(({ 0: match, index }) => ({ kind, start: index, end: index + match.length }))
}

/** The text that replaces a finding. No built-in detector matches it, so redacting a redacted text changes nothing. */
export const placeholder = (kind: string) => `[${kind.replace(/[^\p{L} _-]+/gu, '').toUpperCase() || 'REDACTED'}]`

/**
 * Returns the text with every finding replaced. Custom detectors take precedence over the built-in ones: a finding that
 * overlaps an accepted one is dropped. Empty findings, and findings whose offsets are not integers within the text, are
 * dropped too.
 */
export function redact(text: string, custom: readonly CustomDetector[] = []): Redacted {
  const customDetectors = custom.map((each) => (typeof each === 'function' ? each : byPattern(each.kind, each.pattern)))
  const found: Finding[] = []
  for (const detect of [...customDetectors, ...BUILT_IN]) {
    const accepted: Finding[] = []
    let next = 0
    for (const find of [...detect(text)].sort((a, b) => a.start - b.start || b.end - a.end)) {
      const { start, end } = find
      if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start >= end || end > text.length) continue
      while (next < found.length && found[next]!.end <= start) next++
      const overlaps = (found[next]?.start ?? Infinity) < end || (accepted.at(-1)?.end ?? 0) > start
      if (!overlaps) accepted.push({ kind: find.kind, start, end })
    }
    if (accepted.length > 0) found.push(...accepted)
    found.sort((a, b) => a.start - b.start)
  }
  let copiedTo = 0
  let redacted = ''
  for (const { kind, start, end } of found) {
    redacted += text.slice(copiedTo, start) + placeholder(kind)
    copiedTo = end
  }
  return { text: redacted + text.slice(copiedTo), found }
}
