// Replaces personal data and secrets in a text with placeholders. Card and bank account numbers with a wrong checksum
// are kept. All built-in patterns are bounded, so that the time is linear in the length of the text for any input.

import { RE2JS } from 're2js'
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

/** Whether the offsets of a finding are integers within a text of this length, and it is not empty. */
const isValid = ({ start, end }: Finding, length: number) =>
  Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= length

/** Runs the detectors; a finding that overlaps an earlier one, or one of an earlier detector, is dropped. Ascending. */
function findAll(text: string, detectors: readonly Detector[]): Finding[] {
  const found: Finding[] = []
  for (const detect of detectors) {
    const accepted: Finding[] = []
    let next = 0
    for (const find of [...detect(text)].sort((a, b) => a.start - b.start || b.end - a.end)) {
      if (!isValid(find, text.length)) continue
      const { kind, start, end } = find
      while (next < found.length && found[next]!.end <= start) next++
      const overlaps = (found[next]?.start ?? Infinity) < end || (accepted.at(-1)?.end ?? 0) > start
      if (!overlaps) accepted.push({ kind, start, end })
    }
    if (accepted.length > 0) found.push(...accepted)
    found.sort((a, b) => a.start - b.start)
  }
  return found
}

/** Returns the parts of ascending findings that are outside of other ascending findings and have a letter or digit. */
function outside(text: string, findings: readonly Finding[], others: readonly Finding[]): Finding[] {
  let first = 0
  return findings.flatMap(({ kind, start, end }) => {
    while (first < others.length && others[first]!.end <= start) first++
    const parts: Finding[] = []
    let from = start
    for (let next = first; next < others.length && others[next]!.start < end; next++) {
      parts.push({ kind, start: from, end: others[next]!.start })
      from = others[next]!.end
    }
    parts.push({ kind, start: from, end })
    return parts.filter((part) => /[\p{L}\p{N}]/u.test(text.slice(part.start, Math.max(part.start, part.end))))
  })
}

/**
 * Returns the text with every finding replaced. Custom detectors take precedence over the built-in ones: of a built-in
 * finding that overlaps custom ones, such as a private key that contains the digits of a badge, the parts outside of
 * them are replaced. Any other finding that overlaps an accepted one is dropped. Empty findings, and findings whose
 * offsets are not integers within the text, are dropped too.
 */
export function redact(text: string, custom: readonly CustomDetector[] = []): Redacted {
  const customFound = findAll(
    text,
    custom.map((each) => (typeof each === 'function' ? each : byPattern(each.kind, each.pattern))),
  )
  const found = [...customFound, ...outside(text, findAll(text, BUILT_IN), customFound)]
  found.sort((a, b) => a.start - b.start)
  let copiedTo = 0
  let redacted = ''
  for (const { kind, start, end } of found) {
    redacted += text.slice(copiedTo, start) + placeholder(kind)
    copiedTo = end
  }
  return { text: redacted + text.slice(copiedTo), found }
}

/** Maximum number of patterns. Each costs about 1 ms per 100,000 characters of a text. */
export const MAX_PATTERNS = 50
/** Maximum length of a pattern, in characters. */
export const MAX_PATTERN_LENGTH = 1_000

/**
 * Returns a detector of the matches of an operator's pattern. RE2 matches every pattern in time linear in the length of
 * the text, so no pattern and no text can stall the process. RE2 supports neither backreferences nor lookaround.
 * @throws Error if the pattern is invalid, or matches the empty text
 */
export function linearPattern(kind: string, pattern: string): CustomDetector {
  const compiled = RE2JS.compile(pattern)
  if (compiled.matches('')) throw new Error('must not match the empty text')
  return (text) => {
    const found = []
    const matcher = compiled.matcher(text)
    while (matcher.find()) found.push({ kind, start: matcher.start(), end: matcher.end() })
    return found
  }
}
