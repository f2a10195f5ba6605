// Replaces personal data and secrets in a text by placeholders. Numbers that fail their checksum stay. All patterns are
// bounded, so the time is linear in the length of the text, also for hostile input.

import { cards, credentials, emails, ibans, ips, phones, type Finding } from './sensitive.ts'

/** Finds sensitive stretches of a text. A finding that overlaps one of an earlier detector is dropped. */
type Detector = (text: string) => Iterable<Finding>
/** An application's detector: a pattern and the kind to show in its place, or a function. It must bound its own time. */
export type CustomDetector = Detector | { kind: string; pattern: RegExp }

type Redacted = {
  text: string
  /** The findings that were replaced, by position in the input, ascending. */
  found: Finding[]
}

/** In order of precedence. */
const BUILT_IN: Detector[] = [credentials, emails, ibans, cards, ips, phones]

const byPattern = (kind: string, pattern: RegExp): Detector => {
  const flags = pattern.flags.replace('y', '')
  const global = new RegExp(pattern.source, flags.includes('g') ? flags : `${flags}g`)
  return (text) =>
    [...text.matchAll(global)].map(({ 0: match, index }) => ({ kind, start: index, end: index + match.length }))
}

/** The text that replaces a finding. No detector matches it: redacting twice changes nothing. */
export const placeholder = (kind: string) => `[${kind.replace(/[^\p{L} _-]+/gu, '').toUpperCase() || 'REDACTED'}]`

/**
 * The text with every finding replaced. Custom detectors take precedence over the built-in ones. Findings that are empty,
 * outside the text, or not whole numbers are ignored.
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
