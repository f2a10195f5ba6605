// Reads REDACT_PATTERNS_FILE: a JSON object from names to RE2 patterns.

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { linearPattern, MAX_PATTERN_LENGTH, MAX_PATTERNS } from '../text/redact/redact.ts'

const file = z
  .record(
    z.string().regex(/^[a-z][a-z _-]{0,39}$/i, 'must be a name of 1 to 40 letters, spaces, - and _'),
    z.string().min(1).max(MAX_PATTERN_LENGTH),
  )
  .refine((patterns) => Object.keys(patterns).length <= MAX_PATTERNS, `must have at most ${MAX_PATTERNS} patterns`)

/** Returns the detectors of the patterns in the file. @throws Error with the first problem */
function readPatterns(path: string) {
  const { data, error } = file.safeParse(JSON.parse(readFileSync(path, 'utf8')))
  if (error) {
    const [issue] = error.issues
    const { message } = issue?.code === 'invalid_key' ? issue.issues[0]! : issue!
    throw new Error(`${issue!.path.join('.')} ${message}`.trim())
  }
  return Object.entries(data).map(([kind, pattern]) => {
    try {
      return linearPattern(kind, pattern)
    } catch (error) {
      throw new Error(`the pattern ${JSON.stringify(kind)}: ${(error as Error).message}`, { cause: error })
    }
  })
}

/** Converts the path of the file to the detectors of its patterns. Defaults to no detectors. */
export const redactPatterns = z
  .string()
  .transform((path, context) => {
    try {
      return readPatterns(path)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      context.addIssue({ code: 'custom', message: code ? `cannot be read (${code})` : message })
      return z.NEVER
    }
  })
  .optional()
  .transform((detectors) => detectors ?? [])
