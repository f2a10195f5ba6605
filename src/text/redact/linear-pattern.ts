// Compiles the operator's patterns for redaction. RE2 matches every pattern in time linear in the length of the text,
// so no pattern and no text can stall the process. RE2 supports neither backreferences nor lookaround.

import { RE2JS } from 're2js'
import type { CustomDetector } from './redact.ts'

/** Maximum number of patterns. Each costs about 1 ms per 100,000 characters of a text. */
export const MAX_PATTERNS = 50
/** Maximum length of a pattern, in characters. */
export const MAX_PATTERN_LENGTH = 1_000

/** Returns a detector of the pattern's matches. @throws Error if the pattern is invalid, or matches the empty text */
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
