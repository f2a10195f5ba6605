// Finds the names that a text mentions: `@name`, or `@"display name"` for a name with white space. Ignores email
// addresses, URLs and code. Pure, and linear in the length of the text; the database resolves names to participants
// (prisma/functions/find_mentioned.sql).

/** Maximum number of different names that are found in a text; further names are ignored. */
export const MAX_MENTIONS = 50
/** Maximum length of a name in characters (code points), the same as of actors and display names. */
const MAX_NAME = 200

/** A name without quotes. It may contain, but not end with, the characters of NAME_END. */
const NAME = new RegExp(`[\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_.:/@-]{0,${2 * MAX_NAME}}`, 'uy')
const NAME_END = /[.:/@-]+$/
const QUOTED = new RegExp(`"([^"\\n]{1,${MAX_NAME}})"`, 'uy')
/** Matches text before an `@` that is no mention: in an email address or a path, or another `@`. */
const ADDRESS_END = /[\p{L}\p{M}\p{N}_+%/@]$/u
const URL_START = /:\/\/|www\./i
const BLANK = /\s/

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/
const FENCE_END = /^ {0,3}(`{3,}|~{3,})[ \t\r]*$/

/** Half-open range [start, end) of UTF-16 offsets. */
type Range = { start: number; end: number }

/** Returns the code spans of a paragraph: each starts with a run of backticks and ends with the next equal run. */
function spansOf(paragraph: string, offset: number): Range[] {
  const runs = [...paragraph.matchAll(/`+/g)].map(({ 0: run, index }) => ({ start: index, end: index + run.length }))
  const closing: (number | undefined)[] = []
  const nextOfLength = new Map<number, number>()
  for (let i = runs.length - 1; i >= 0; i--) {
    const length = runs[i]!.end - runs[i]!.start
    closing[i] = nextOfLength.get(length)
    nextOfLength.set(length, i)
  }
  const spans: Range[] = []
  for (let i = 0; i < runs.length; i++) {
    const close = closing[i]
    if (close === undefined) continue
    spans.push({ start: offset + runs[i]!.start, end: offset + runs[close]!.end })
    i = close
  }
  return spans
}

/** Returns the code of a Markdown text in order: fenced blocks, and spans within paragraphs. */
function codeOf(text: string): Range[] {
  const code: Range[] = []
  let fence: { mark: string; start: number } | null = null
  let paragraph = 0
  const endParagraph = (end: number) => {
    for (const span of spansOf(text.slice(paragraph, end), paragraph)) code.push(span)
  }
  for (let start = 0; start < text.length;) {
    const lineEnd = text.indexOf('\n', start)
    const end: number = lineEnd === -1 ? text.length : lineEnd + 1
    const line = text.slice(start, lineEnd === -1 ? end : lineEnd)
    if (fence !== null) {
      const mark = FENCE_END.exec(line)?.[1]
      if (mark?.startsWith(fence.mark)) {
        code.push({ start: fence.start, end })
        fence = null
        paragraph = end
      }
    } else {
      const mark = FENCE.exec(line)?.[1]
      if (mark !== undefined || line.trim() === '') {
        endParagraph(start)
        paragraph = end
      }
      if (mark !== undefined) fence = { mark, start }
    }
    start = end
  }
  if (fence !== null) code.push({ start: fence.start, end: text.length })
  else endParagraph(text.length)
  return code
}

/** Returns the name after the `@` at that offset, and the offset after it; null for none. */
function nameAfter(text: string, at: number): { name: string; end: number } | null {
  const pattern = text[at + 1] === '"' ? QUOTED : NAME
  pattern.lastIndex = at + 1
  const match = pattern.exec(text)
  if (match === null) return null
  const name = match[1] ?? match[0].replace(NAME_END, '')
  return { name, end: pattern.lastIndex }
}

/** Returns the part of the text between two offsets that follows its last blank. */
function lastWord(text: string, from: number, to: number): string {
  let start = to
  while (start > from && !BLANK.test(text[start - 1]!)) start--
  return text.slice(start, to)
}

/** Returns the different names that the text mentions, in order, at most MAX_MENTIONS; null for none. */
export function mentionsIn(text: string): string[] | null {
  let at = text.indexOf('@')
  if (at === -1) return null
  const code = text.includes('`') || text.includes('~~~') ? codeOf(text) : []
  let nextCode = 0
  const names = new Set<string>()
  /** Whether `from`, the end of the text examined so far, is within a URL. */
  let isUrl = false
  let from = 0
  for (; at !== -1 && names.size < MAX_MENTIONS; at = text.indexOf('@', from)) {
    const word = lastWord(text, from, at)
    isUrl = (isUrl && word.length === at - from) || URL_START.test(word)
    while (code[nextCode] !== undefined && code[nextCode]!.end <= at) nextCode++
    const isCode = code[nextCode] !== undefined && code[nextCode]!.start <= at
    const isFree = !isUrl && !isCode && !ADDRESS_END.test(text.slice(Math.max(0, at - 2), at))
    const found = isFree ? nameAfter(text, at) : null
    if (found !== null && [...found.name].length <= MAX_NAME) names.add(found.name)
    from = found?.end ?? at + 1
    if (found !== null) isUrl = false
  }
  return names.size > 0 ? [...names] : null
}
